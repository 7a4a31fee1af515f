"""MED-OMIT (Schumacher et al. 2024): omissions of a summary, weighted by what they change in the differential."""
