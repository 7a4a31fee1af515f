"""Measures of text against truth, one package a method: DocLens, MED-OMIT, note QA, overlap."""
