"""Boundaries of a symptom span: the smallest clause with the mention, without its reporting verb."""

import re
from collections.abc import Sequence

from tasks.simulator.clinical.findings import Finding

_LEAD = re.compile(
    r"^[\s\-•*–]*(?:according to the patient,\s*)?(?:(?:on|upon) (?:further )?(?:physical )?(?:exam|"
    r"examination|inspection|review),?\s+)?"
    r"(?:(?:(?:the )?(?:patient|pt\.?|individual|client)\b|they|there|he|she|also|additionally|furthermore|"
    r"moreover|overall|and|in addition),?\s*)*"
    r"(?:(?:is|are|was|were|has|have|had|been|also|further|currently|recently|initially|noted|having|does|"
    r"appears|to be)\s+)*"
    r"(?:(?:presents?|presented|presenting|reports?|reported|reporting|complains?|complained|complaining|"
    r"c/o|describes?|described|"
    r"mentions?|mentioned|noticed|notes?|noted|states?|stated|comes? in|came in|endorses?|experiences|"
    r"experienced|admits?|exhibits?|"
    r"has|had|visits the clinic|developed|indicates?|seeking|suffers?|rpts?)\b[ \t]*)*(?:experiencing\b[ \t]*)?"
    r"(?:(?:with|w/|of|to|having|about|from|due to|because of|for|that|in)\s+)?"
    r"(?:(?:a )?(?:(?:main|chief|primary|sudden|recent|gradual)\s+)*(?:complaints?|history|hx|onset|"
    r"symptoms|report|presence|episodes?)\s+of\s+)*"
    r"(?:(?:a|an|the|some|having|accompanying|associated|ongoing)\s+)*",
    re.IGNORECASE,
)
_BREAK = re.compile(
    r";|\s—\s|(?:,\s*)?\b(?:but|however|although|though|while|whereas)\b"
    r"|,?\s*\b(?:and|&)\s+(?=(?:also\s+)?(?:has|had|is|was|reports?|denies|denied|notes?|experiences|"
    r"describes?|confirms|complains|mentions?|"
    r"feels|there|no\b|the patient|they|is currently|seeks|states)\b)"
    r"|,\s*(?:reporting|stating|noting|and noted|and reported) (?:that )?(?=the\b)"
    r"|,\s*(?=(?:accompanied|along with|together with|as well as|associated with|alongside|in addition|"
    r"denies|denied|reports|notes|no\b"
    r"|without\b|w/o\b|and (?:the|no|denies|there|they|has)\b|patient|pt\b))"
    r"|\s+(?=(?:accompanied by|along with|as well as|together with)\b)"
    r"|\.\s+(?=[A-Z])|\s+-\s+",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"^,\s*(?:(?:particularly|especially|esp\.?|primarily|mainly|mostly|typically|usually|persisting|"
    r"lasting|worse|worsens?|worsening|"
    r"with temp\w*|with T\b|T\b|at times|often|occurring|including|characteri[sz]ed|described|starting|"
    r"beginning|for (?:the|over|about)|since|x ?\d|dry|productive|no sputum|occasionally|sometimes)\b|"
    r"which (?:worsens|is worse|is|has|began|started|occurs)\b)",
    re.IGNORECASE,
)


def clause(note: str, finding: Finding) -> tuple[int, int]:
    """Return the stretch between the clause breaks around the finding."""
    start, end = finding.sentence
    for match in _BREAK.finditer(note, start, end):
        if match.end() <= finding.start:
            start = match.end()
        elif match.start() >= finding.end:
            return start, match.start()
    return start, end


def without_lead(note: str, start: int, finding: Finding) -> int:
    """Return the start of the clause without subject and reporting verb; at most the start of the finding."""
    lead = _LEAD.match(note[start : finding.start])
    if lead is None:
        return start
    return start + lead.end()


_DURATION = re.compile(
    r"\s+(?:(?:for|over|during|in|throughout) (?:the )?(?:past|last|approximately|about|\d)|accompan|since\b|x ?\d)"
)
_PLAIN_EXAM = re.compile(
    r"^(?:observation|inspection|examination|exam|auscultation)\s*(?:shows?|reveals?|:)\s*", re.IGNORECASE
)


def with_verb(note: str, full: int, short: int, end: int) -> int:
    """Return where a short mention starts including its reporting verb: "presents with dyspnea", not "dyspnea".

    Words are added until the span covers half of the clause.
    """
    if end - full <= 2 * (end - short):
        return short
    wanted = end - min((end - full + 1) // 2, 2 * (end - short) + 6)
    words = [m.start() + full for m in re.finditer(r"\S+", note[full:short])]
    return max((at for at in words if at <= wanted), default=short)


def without_plain_exam(note: str, start: int, finding: Finding) -> int:
    """Return the start of the clause without an introductory verb of examination ("auscultation reveals")."""
    lead = _PLAIN_EXAM.match(note[start : finding.start])
    return start + lead.end() if lead else start


def head_end(note: str, finding: Finding, end: int, others: Sequence[Finding], same: Sequence[Finding]) -> int:
    """Return where the first part of the clause after the finding ends: at a comma or before another symptom.

    The part includes further mentions of the same symptom (``same``).
    """
    for other in sorted(others, key=lambda f: f.start):
        if finding.end <= other.start < end:
            joint = re.search(r"(?:,\s*|\s+)(?:(?:and|&|with|or|plus|\+)\s+)?[^,;]*$", note[finding.end : other.start])
            between = note[finding.end : other.start]
            cut = re.search(r",|\s+(?:and|&|plus|\+|with|w/|or)\s", between)
            end = finding.end + (cut.start() if cut else (joint.start() if joint else len(between)))
            break
    reach = max([f.end for f in same if finding.end <= f.start and f.end <= end], default=finding.end)
    if finding.concept == "nasal symptoms" and finding.section != "physical_examination":
        cut = _DURATION.search(note, reach, end)
        return cut.start() if cut else _comma(note, reach, end)
    comma = note.find(",", reach, end)
    while comma != -1:
        after = re.search(r"[,;]", note[comma + 1 : end])
        stop = comma + 1 + after.start() if after else end
        if not _TAIL.match(note[comma:stop]) or stop - comma > 0.9 * (comma - finding.start) + 25:
            return comma
        comma = note.find(",", stop, end)
    return end


def _comma(note: str, start: int, end: int) -> int:
    found = note.find(",", start, end)
    return end if found == -1 else found


def trimmed(note: str, start: int, end: int) -> tuple[int, int]:
    """Strip white space, list marks and conjunctions from both ends of a stretch."""
    while start < end and (note[start].isspace() or note[start] in ",;:.-•*"):
        start += 1
    while end > start and (note[end - 1].isspace() or note[end - 1] in ",;:.-*"):
        end -= 1
    tail = re.search(r"(?:,?\s+(?:and|or|but|with|&))+$", note[start:end])
    return start, (start + tail.start() if tail else end)
