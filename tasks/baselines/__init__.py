"""Symptom predictors of SimSUM's Section 3.2 and their scoring. Only importer of xgboost.

Every model returns a table of probabilities on the test records (`schemas.tables.baselines.PREDICTIONS`); all models
are scored by the same functions (`tasks.baselines.scoring`).
"""
