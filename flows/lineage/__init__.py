"""What a rebuild was made from and came to: lineages, their records, comparison."""
