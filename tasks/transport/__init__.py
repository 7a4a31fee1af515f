"""How calls reach a model: clients, store, budget, limits, batches, fingerprints. Decides no byte of a result."""
