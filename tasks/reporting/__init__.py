"""Figures and HTML from metric tables. Computes no metric."""
