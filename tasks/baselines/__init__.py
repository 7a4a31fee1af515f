"""Symptom predictors of SimSUM's Section 3.2, one model a file, and their scoring. Only importer of xgboost.

What a model gives is a table of probabilities on test records (`schemas.tables.baselines.PREDICTIONS`); all models are
scored by the same functions (`tasks.baselines.scoring`).
"""
