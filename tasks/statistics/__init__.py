"""Intervals, resampling and agreement shared by the rooms. A leaf: imports nothing of the project but schemas."""
