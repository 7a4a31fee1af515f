"""MED-OMIT (Schumacher et al. 2024): facts that a summary omits, weighted by their effect on the differential."""
