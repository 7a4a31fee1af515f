"""The dataset as files: SimSUM's layout in and out, parquet, card, Croissant. Imports schemas and tasks.text."""
