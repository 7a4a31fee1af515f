"""A user's documents (a source, an optional reference, outputs of systems): reading, judging, tables."""
