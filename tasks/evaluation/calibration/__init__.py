"""Measures the judges against planted truth, and corrects their scores for the errors that they are known to make."""
