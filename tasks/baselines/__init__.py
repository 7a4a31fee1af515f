"""Symptom predictors, one model a file, and what they share. The only importer of xgboost."""
