"""Similarity of the simulator's notes to the published notes."""
