"""Forms that people fill in: one self-contained HTML page each, opened from a file, loading nothing."""
