"""Published tables beside ours: loads the printed figures, judges the rows that the rooms emit."""
