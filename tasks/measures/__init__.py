"""Measures of text against truth, a folder for each."""
