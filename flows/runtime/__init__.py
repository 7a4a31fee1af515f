"""How a stage runs: params, tables, chunks, model clients, costs, the simulator's server, the workspace."""
