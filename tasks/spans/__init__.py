"""Symptom spans: extraction, matching phrases to offsets, statistics. Imports tasks.llm, tasks.text and schemas."""
