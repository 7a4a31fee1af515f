"""Prompts, notes, the consistency filter and compact notes (SimSUM, Section 2.2)."""
