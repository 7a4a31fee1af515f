"""The grammar of all rule files: those of the domain in use, and those of ``data`` for every domain."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from schemas.errors import DomainError
from tasks.domains.in_use import domain_cache, domain_data, domain_file, files_within
from tasks.simulator.writer.grammar import Grammar
from tasks.simulator.writer.plan import plan
from tasks.simulator.writer.resources import flatten, read_data

SHARED_FILES = ("words.yaml", "frames.yaml", "context.yaml", "exam.yaml", "complaints.yaml")
NO_RULES = ("plan", "rates", "shorthand")
"""Files of a domain's ``writer`` folder that are no rule files."""


def grammar() -> Grammar:
    """Return the compiled grammar of all rule files: the domain's, and those of ``data`` for every domain."""
    return _compiled(_second.get())


@contextmanager
def second_wording(second: bool) -> Iterator[None]:
    """Write with the domain's second wording of the symptoms within a ``with`` block, if ``second``."""
    token = _second.set(second)
    try:
        yield
    finally:
        _second.reset(token)


_second: ContextVar[bool] = ContextVar("second wording", default=False)


@domain_cache(maxsize=2)
def _compiled(second: bool) -> Grammar:
    rules: dict[str, str] = {}
    for name in (*SHARED_FILES, *plan().shared):
        rules |= flatten(read_data(name))
    for name in files_within("writer"):
        if name not in NO_RULES:
            rules |= flatten(domain_data(f"writer/{name}"))
    return Grammar(_reworded(rules) if second else rules, plan().letters, domain_file("writer/plan").parent)


def _reworded(rules: dict[str, str]) -> dict[str, str]:
    """Rules with those of the second wording; the descriptors of its symptoms lose their own wordings.

    Raises DomainError if the domain has no second wording.
    """
    others: dict[str, Any] = domain_data("second/wordings")
    if not others:
        raise DomainError(f"{domain_file('second/wordings')}: it rewords no symptom; use a writer without -second")
    own = tuple(f"{symptom}.{part}." for symptom in others for part in ("np", "more_of"))
    return {name: text for name, text in rules.items() if not name.startswith(own)} | flatten(others)
