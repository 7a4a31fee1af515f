"""How a stage runs: tables, chunks, Dask, model clients and their identities, costs, the clinical domain."""
