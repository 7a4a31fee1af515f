"""The one command for stages: ``python -m flows.stage NAME``."""
