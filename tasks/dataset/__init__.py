"""The dataset as files: reading and writing SimSUM's layout, parquet, card; pushing them to Hugging Face."""
