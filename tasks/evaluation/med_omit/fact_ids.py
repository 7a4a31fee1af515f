"""Ids of facts, F0, F1 and so on: how facts are numbered, shown to the judge, and recognised in its replies."""

import re
from collections.abc import Mapping, Sequence

_ID = re.compile(
    r"\W*(?:(?:facts?|ids?)\W*)?(?P<prefix>f?)[\W_]*(?P<number>\d+)\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_TEXT_FOLLOWS = re.compile(r"\W*|[\])\s]*[:.)-]\s+\D.*", re.DOTALL)
"""What follows a number that is an id: nothing, or the fact after a mark (``0: text``), but not ``3 days``."""

_OTHER_ID = re.compile(r"\bf\d+\b", re.IGNORECASE)


def number_facts(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, str]]:
    """Number facts F0, F1, ... in order: id -> (kind, fact). Repeats, within and across kinds, are dropped first.

    The released code drops repeats after numbering, which leaves ids that repeat; that is not reproduced.
    """
    found: dict[str, tuple[str, str]] = {}
    for kind, facts in lists.items():
        for fact in facts:
            text = " ".join(fact.split())
            if text:
                found.setdefault(text.lower(), (kind, text))
    return {f"F{number}": fact for number, fact in enumerate(found.values())}


def fact_lines(facts: Mapping[str, str]) -> list[str]:
    """Facts (id -> text) as shown to the judge: ``F3: fact``."""
    return [f"{name}: {text}" for name, text in facts.items()]


def fact_id(given: str, facts: Mapping[str, str]) -> str:
    """The id of a fact (id -> text) as a model may write it: ``F0``, ``f0``, ``0``, ``[F0]``, ``F0: text``, its text.

    Raises ValueError for an unknown id, and for an id with the text of another fact.
    """
    by_text = {_plain(text): name for name, text in facts.items()}
    if name := by_text.get(_plain(given)):
        return name
    found = _ID.fullmatch(given)
    if found and (found["prefix"] or _TEXT_FOLLOWS.fullmatch(found["rest"])):
        name, text = f"F{int(found['number'])}", _plain(found["rest"])
        if name in facts and not _OTHER_ID.search(found["rest"]) and (not text or by_text.get(text, name) == name):
            return name
    raise ValueError(f"{given[:80]!r} is not the id of a fact; ids are {_range(facts)}")


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _range(facts: Mapping[str, str]) -> str:
    return ", ".join(facts) if len(facts) <= 12 else f"{next(iter(facts))} to {list(facts)[-1]}"
