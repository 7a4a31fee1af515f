"""Patients over several visits: facts of their records over time, and the notes of their visits."""
