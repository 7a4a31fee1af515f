"""Tests of the clinical domains."""
