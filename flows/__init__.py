"""Thin Prefect flows, one a stage: load, validate, call, validate, save. The only importer of prefect."""
