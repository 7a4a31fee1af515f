"""Pure functions of tables and params, one room a package. No prefect, no params.yaml, no paths of the DAG.

Imports go one way: a stage room imports `tasks.llm`, `tasks.text`, `tasks.statistics`, `tasks.encoder` and `schemas`,
never the insides of another stage room, and nothing here imports `flows`.
"""
