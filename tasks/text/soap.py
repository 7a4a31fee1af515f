"""The four parts of a SOAP note, found by ACI-BENCH's headings (Yim et al. 2023, released section tagger).

DocLens scores ACI-BENCH notes by section (its Tables 24-27), so its figures depend on the section boundaries. A note
has at most one text for each part, from the first heading of that part to the first heading of the next.
"""

import re

PARTS = ("subjective", "objective_exam", "objective_results", "assessment_and_plan")

# A heading ends in a colon or is alone on its line; those in _OPEN may also be followed by text.
_HEADINGS = {
    "subjective": "cc | chief complaint | reason for visit | history | history of present illness | hpi | hpi notes"
    " | interval history | interval hx | subjective | ros | review of system | review of systems",
    "objective_exam": "physical exam | physical examination | pe | physical findings | examination | exam",
    "objective_results": "results | findings",
    "assessment_and_plan": "assessment | a | plan | plan of care | p | medical decision-making plan | ap | a / p"
    " | assessment / plan | assessment and plan | assessment & plan | disposition / plan",
}
_MARK = r"\s*+(?:#{1,6}\s*+)?(?:\*{1,3}|__)?\s*+"
_OPEN = {"subjective": "history of present illness | hpi", "assessment_and_plan": "summary plan"}


def _pattern(part: str) -> re.Pattern[str]:
    closed = _any_of(_HEADINGS[part])
    free = f"|{_any_of(_OPEN[part])}" if part in _OPEN else ""
    # A heading may be marked up: **SUBJECTIVE**, ## Physical Exam, **Plan:** rest
    return re.compile(rf"{_MARK}(?:{closed}\s*+(?:\*++\s*+)?(?::\**|$){free})", re.IGNORECASE)


def _any_of(headings: str) -> str:
    """A regular expression for one of ``headings``, with any white space between words."""
    listed = (r"\s*".join(map(re.escape, heading.split(" "))) for heading in headings.split(" | "))
    return f"(?:{'|'.join(listed)})"


_PATTERNS = {part: _pattern(part) for part in PARTS}
_IMPRESSION = re.compile(rf"{_MARK}IMPRESSION")  # in capitals only: "Impression:" is part of the results in ACI-BENCH


def is_heading(line: str) -> bool:
    """Whether ``line`` is the heading of a part and nothing else."""
    found = next((match for pattern in _PATTERNS.values() if (match := pattern.match(line))), None)
    return found is not None and not line[found.end() :].strip("* \t")


def split_soap(note: str) -> dict[str, str]:
    """Parts of ``note`` by name, headings included; a part without a heading is absent.

    Text before the first heading belongs to the subjective part. Only a part's first heading opens it; each part runs
    to the start of the next one.
    """
    starts: dict[str, int] = {}
    offset = 0
    for number, line in enumerate(note.split("\n")):
        part = next((name for name, pattern in _PATTERNS.items() if pattern.match(line)), None)
        part = part or ("assessment_and_plan" if _IMPRESSION.match(line) else "subjective" if number == 0 else None)
        if part is not None and part not in starts:
            starts[part] = offset
        offset += len(line) + 1
    order = sorted(starts, key=lambda part: starts[part])
    ends = [starts[part] for part in order[1:]] + [len(note)]
    return {part: note[starts[part] : end] for part, end in zip(order, ends, strict=True)}
