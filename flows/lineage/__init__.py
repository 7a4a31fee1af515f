"""What a rebuild was made from and came to: lineages, measured runs, their records, retention."""
