"""The commands of ``vignette``, one per module."""
