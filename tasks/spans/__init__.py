"""Symptom spans: extraction, matching of phrases to offsets, statistics (SimSUM, Section 2.3)."""
