"""Annotated texts in the formats of other tools, out and back without loss. A leaf: one module a format, no IO."""
