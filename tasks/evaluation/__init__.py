"""Evaluation of text against truth, one metric a file."""
