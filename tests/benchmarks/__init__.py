"""What a run costs at a size that no test has."""
