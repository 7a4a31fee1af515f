"""Precision and recall of the annotator: span extraction and the consistency check."""
