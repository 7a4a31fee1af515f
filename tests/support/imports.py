"""The project's root."""

from tasks.code import ROOT

__all__ = ["ROOT"]
