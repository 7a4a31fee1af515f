"""Rebuilds: the flow that chains the stages of dvc.yaml, the Prefect server, and the tree of the watch."""
