"""What the pipelines give on little data, as tables that git keeps: `python -m tests.snapshots` renews them."""
