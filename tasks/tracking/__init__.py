"""Lineage records and their comparison. The only package that imports mlflow."""
