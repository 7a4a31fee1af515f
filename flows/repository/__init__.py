"""The working copy: its workspace and params, git, dvc.yaml and its lock, DVC's cache, kept runs and processes."""
