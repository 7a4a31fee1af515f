"""Boundaries of a symptom span: the clause with the mention, from its noun phrase to the end of its modifiers."""

import re
from collections.abc import Sequence

from tasks.domains.in_use import domain_cache
from tasks.simulator.clinical.findings import Finding
from tasks.simulator.clinical.vocabulary import reading

_VERB = (
    r"(?:has|had|is|was|reports?|denies|denied|notes?|experiences|describes?|confirms|complains|mentions?|feels|states)"
)
_BREAK = re.compile(
    r";|\.\s+(?=[A-Z])"
    r"|(?:,\s*)?\b(?:but|however|although|though|while|whereas)\b"
    # a conjunction before a new subject or verb
    rf"|,?\s*\b(?:and|&)\s+(?=(?:also\s+)?(?:{_VERB}|there|no|the patient|they)\b)"
    # a comma before an addition or a denial
    r"|,\s*(?=(?:accompanied|along with|together with|as well as|associated with|alongside|in addition"
    r"|denies|denied|reports|notes|no|without|w/o|and (?:the|no|denies|there|they|has)|patient|pt)\b)"
    r"|\s+(?=(?:accompanied by|along with|as well as|together with)\b)",
    re.IGNORECASE,
)
_REPORTING = (
    r"presents?|presented|presenting|reports?|reported|reporting|complain(?:s|ed|ing)?|c/o|rpts?"
    r"|describes?|described|describing|mentions?|mentioned|notic(?:es|ed|ing)|not(?:es?|ed|ing)|states?|stated|stating"
    r"|endorses?|endorsed|experienc(?:es?|ed|ing)|admits?|exhibits?|develop(?:s|ed|ing)?|indicat(?:es|ed|ing)"
    r"|suffer(?:s|ed|ing)?"
)
_INTRODUCTION = re.compile(
    rf"\b(?:{_REPORTING}"
    r"|because of|due to|after|before|when|while|since|until|if"
    r"|has|have|had|having|is|are|was|were|been|being"
    r"|with|w/|by|from|for|about|to|as"
    r"|(?:(?:main|chief|primary)\s+)?complaints? of|history of|hx of|h/o|onset of|presence of)(?![\w-])"
    r"(?:\s+(?:of|with|a|an|the|some|having|experiencing|about|that|from|to|by|for|in))*\b\s*",
    re.IGNORECASE,
)
_MODIFIERS = (
    r"with|without|about|at|in|on|over|for|since|during|after|when|esp|x ?\d|T"
    r"|worse|which|most|mild|moderate|severe|often"
)
_SEPARATOR = re.compile(r",|\s+(?:and|&|plus|\+|with|w/|or)\s")


@domain_cache(maxsize=1)
def _modifier() -> re.Pattern[str]:
    """The beginning of a modifier after a comma: a quotation, a participle, an adverb, or a known word."""
    known = "|".join([_MODIFIERS, *map(re.escape, reading().modifiers)])
    return re.compile(rf"^,\s*(?:and\s+)?(?:[\"“]|\w+(?:ly|ing|ed)\b|(?:{known})\b)", re.IGNORECASE)


def clause(note: str, finding: Finding) -> tuple[int, int]:
    """Return the stretch between the clause breaks around the finding."""
    start, end = finding.sentence
    for match in _BREAK.finditer(note, start, end):
        if match.end() <= finding.start:
            start = match.end()
        elif match.start() >= finding.end:
            return start, match.start()
    return start, end


def phrase_start(note: str, start: int, finding: Finding) -> int:
    """Return where the noun phrase starts: after the last verb or preposition that introduces the finding."""
    for match in _INTRODUCTION.finditer(note, start, finding.start):
        start = match.end()
    return min(start, finding.start)


def with_verb(note: str, full: int, short: int, end: int) -> int:
    """Return where a short mention starts including its reporting verb: "presents with chills", not "chills".

    Words are added until the span covers half of the clause, since published spans vary between phrase and clause.
    """
    if end - full <= 2 * (end - short):
        return short
    wanted = end - min((end - full + 1) // 2, 2 * (end - short) + 6)
    words = [m.start() + full for m in re.finditer(r"\S+", note[full:short])]
    return max((at for at in words if at <= wanted), default=short)


def phrase_end(
    note: str, finding: Finding, end: int, others: Sequence[Finding], same: Sequence[Finding], excess: int
) -> int:
    """Return where the phrase ends: before another symptom, or at a comma that no modifier follows.

    The phrase includes further mentions of the same symptom (``same``). A modifier that is more than ``excess``
    characters longer than the phrase before it is a clause of its own.
    """
    following = [other.start for other in others if finding.end <= other.start < end]
    if following:
        separator = _SEPARATOR.search(note, finding.end, min(following))
        end = separator.start() if separator else min(following)
    reach = max([f.end for f in same if finding.end <= f.start and f.end <= end], default=finding.end)
    comma = note.find(",", reach, end)
    while comma != -1:
        following_comma = re.compile(r"[,;]").search(note, comma + 1, end)
        stop = following_comma.start() if following_comma else end
        if not _modifier().match(note[comma:stop]) or stop - comma > comma - finding.start + excess:
            return comma
        comma = note.find(",", stop, end)
    return end


def trimmed(note: str, start: int, end: int) -> tuple[int, int]:
    """Strip white space, list marks and conjunctions from both ends of a stretch."""
    while start < end and (note[start].isspace() or note[start] in ",;:.-•*"):
        start += 1
    while end > start and (note[end - 1].isspace() or note[end - 1] in ",;:.-*"):
        end -= 1
    tail = re.search(r"(?:,?\s+(?:and|or|but|with|&))+$", note[start:end])
    return start, (start + tail.start() if tail else end)
