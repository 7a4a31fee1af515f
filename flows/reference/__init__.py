"""Reference pages of the documentation site, generated from params, table schemas, metrics, commands and dvc.yaml."""
