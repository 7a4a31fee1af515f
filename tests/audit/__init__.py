"""Tests of `tasks.audit`."""
