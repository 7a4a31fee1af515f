"""Metric tables to figures and HTML. Computes no metric."""
