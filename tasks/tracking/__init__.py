"""Lineage records and their comparison. The only importer of mlflow."""
