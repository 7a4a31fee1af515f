"""How a stage runs: params, dvc.yaml, tables, chunks, model clients, the Prefect server, the workspace."""
