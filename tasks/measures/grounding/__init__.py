"""Whether the claims of a text are true to the source that it was made from."""
