"""Write out shorthand of times, counts, sides and readings: "x4d", "2/52", "L>R", "P 72 reg"."""

import re

_SPANS = {"d": "days", "w": "weeks", "m": "months", "y": "years", "h": "hours"}
_PARTS = {"7": "days", "52": "weeks", "12": "months"}  # "3/7" is three of seven days
_PART = re.compile(r"(?:(?<![A-Za-z])[x×]\s?|\bfor\s)(\d+)/(7|52|12)\b")
_SPAN = re.compile(r"(?<![A-Za-z])([x×]\s?)?(\d+)\s?(d|wks?|w|mos?|yrs?|y|hrs?|h|mins?)\b(?![/.]?[A-Za-z])")
_COUNT = re.compile(r"(?<![A-Za-z\d])[x×]\s?(\d+)(?![\w.,/-])(?!\s?(?:days?|weeks?|months?|years?|hours?|cm|mm|mg)\b)")
_RATE = re.compile(
    r"(?<=\d)\s?(?:/\s?min(?:ute)?\b|(?:beats |breaths )?per minute\b|mm\s?Hg\b|bpm\b|°\s?[CF]\b"
    r"|degrees (?:Celsius|Fahrenheit)\b)"
)
_LEVELS = re.compile(r"\b([CTLS])(\d{1,2})\s?[-–/]\s?([CTLS]?)(\d{1,2})\b")
_MORE = re.compile(r"\b([LR])\s?>\s?(?!\1)[LR]\b")
_PULSE = re.compile(r"\bP(?=:?\s?\d{2,3}\b)")
_NORMAL = re.compile(r"(?<=[a-z0-9] )n(?=\s*(?:bilat\w*|$|[,.;]))")

_SLASH = re.compile(r"(?<=[A-Za-z]{3})/(?=[A-Za-z]{3})")  # "wheeze/creps", not "c/o"
_MUSCLES = re.compile(r"(?<![\d.])(?<![\d.] )\bmm\b")
_RETURN = re.compile(
    r"\b(cut|cutting|go|going|went|come|coming|came|get|getting|got) back\b|\bback(?= to (?:work|normal|school)\b)"
)
_UNCHANGED = re.compile(r"\bno (?:altered|impaired|disturbed) (?=\w)")
_TWICE = re.compile(r"\btwice\b(?! (?:daily|a day|per day))")
_SINGLE = re.compile(
    r"\b((?:for|about|around|almost|nearly|within|past|after|over) )?(an?|one) "
    r"(?=(?:minute|hour|day|week|month|year)\b)"
)
_PREDOMINANT = re.compile(
    r"\b(?P<one>left|right)(?:[ -]sided?)? more (?:\w+ )?than (?:on )?(?:the )?(?!(?P=one))(?:left|right)(?: side)?\b"
    r"|\bmore (?:marked |pronounced |severe |so )?(?:on|to) the (?P<other>left|right)(?: side)?"
    r"(?: than (?:on |to )?(?:the )?(?:left|right)(?: side)?)?\b"
)
_BRITISH = [
    (re.compile(r"oe(?=dema|soph|str[aou])"), "e"),
    (re.compile(r"(?<=rrh|spn|apn|ypn)oe(?=a)"), "e"),
    (re.compile(r"(?<=h|n|p)ae(?=m|d|c|s)"), "e"),
    (re.compile(r"(?<=al|gn|il)is(?=e\b|ed\b|es\b|ing\b|ation\b)"), "iz"),
]
ORDINALS = {"third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th", "seventh": "7th", "eighth": "8th"}
_ORDINAL = re.compile(r"\b(?:" + "|".join(ORDINALS) + r")\b")


def write_out(text: str) -> str:
    """Write out shorthand that depends on letter case: durations, counts, readings, vertebrae, sides."""
    text = _PART.sub(lambda match: f"for {match[1]} {_PARTS[match[2]]}", text)
    text = _SPAN.sub(_duration, text)
    text = _COUNT.sub(r"\1 times", text)
    text = _RATE.sub(" ", text)
    text = _LEVELS.sub(lambda match: f"{match[1]}{match[2]} {match[3] or match[1]}{match[4]}", text)
    text = _MORE.sub(lambda match: "left more than right" if match[1] == "L" else "right more than left", text)
    text = _PULSE.sub("pulse", text)
    text = _SLASH.sub(" / ", text)
    text = _MUSCLES.sub("muscles", text)
    return _NORMAL.sub("normal", text)


def unify(text: str) -> str:
    """Return lower-case ``text`` with one form for spellings, ordinals, single units of time and the worse side."""
    for pattern, replacement in _BRITISH:
        text = pattern.sub(replacement, text)
    text = _PREDOMINANT.sub(lambda match: f"{match['one'] or match['other']}more", text)
    text = _RETURN.sub(lambda match: match[1] or "", text)
    text = _UNCHANGED.sub("normal ", text)
    text = _TWICE.sub("2 times", text)
    text = _SINGLE.sub(_single, text)
    text = re.sub(r"\b1st\b", "first", re.sub(r"\b2nd\b", "second", text))
    return _ORDINAL.sub(lambda match: ORDINALS[match.group()], text)


def _single(match: re.Match[str]) -> str:
    """Return "1" for "one", and for "a" in "for a week"; "a day" alone is a frequency."""
    return f"{match[1] or ''}1 " if match[1] or match[2] == "one" else match.group()


def _duration(match: re.Match[str]) -> str:
    unit = "minutes" if match[3].startswith("min") else _SPANS[match[3][0]]
    return f"{'for ' if match[1] else ''}{match[2]} {unit}"
