"""Evaluation of the user's own texts: one code path for the command, the Python function and the pipeline."""
