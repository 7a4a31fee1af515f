"""Audits are of fewer notes here too."""

from tests.audit.conftest import few_notes

__all__ = ["few_notes"]
