"""Table schemas, one file a room; `columns` holds what they share. Checked with `strict=True, coerce=False`."""
