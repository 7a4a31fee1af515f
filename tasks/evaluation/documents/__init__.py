"""Evaluation of any documents: a source, an optional reference, and the outputs of one or more systems."""
