"""Matching of a single phrase, for tests and benchmarks."""

from tasks.spans.matching import Match, match_phrases


def match_phrase(note: str, phrase: str, *, sure: bool = False) -> Match | None:
    """`match_phrases` of one phrase."""
    return match_phrases(note, [("", phrase)], sure=sure)[0]
