"""Graded changes that keep a claim plausible: another person, the past, a hedge, a degree, a unit, an order, a part.

Each is a pair of premise and claim with its truth by construction: the premise never states the claim in full.
"""

import re

from tasks.domains.in_use import domain_cache
from tasks.domains.rules import load_rules

UNITS = {"day": "week", "week": "month", "month": "week", "year": "month", "hour": "day"}
_ORDERS = {"before": "after", "after": "before", "morning": "evening", "evening": "morning"}
_SUBJECT = re.compile(
    r"^(?:The patient|Patient|He|She) (?P<verb>reports|denies|describes|mentions|has|takes) (?P<rest>.*)$"
)
_PERSONS = ("mother", "father", "sister", "brother")
_PAST = {
    "reports": "reported",
    "describes": "described",
    "mentions": "mentioned",
    "has": "had",
    "takes": "took",
}
_CLAUSE = re.compile(r"^(?:The patient|Patient|He|She|There|The \w+) (?:is|are|was|has|reports|takes|feels)\b")
_OTHER_TIMES = re.compile(
    r"^(?:\w+ed|been|had|not|no)\b|\b(?:past|ago|last|since|recent|patient|is|has|history|his|her|he|she|they|notes)\b|;"
)
_NEGATED = re.compile(r"\b(?:no|not|den(?:y|ies|ied)|without|never|nor)\b", re.IGNORECASE)
_DEGREES = {"mild": "severe", "severe": "mild"}
_LIST = re.compile(
    r"^(?P<head>.*\b(?:reports|reported|describes|mentions|notes|noted|has|with|of|including|by|"
    r"shows|showed|reveals|revealed) )"
    r"(?P<first>[\w' -]+(?:, [\w' -]+)*?),? and (?P<last>[\w'-]+(?: [\w'-]+){0,3})\.$"
)
_NO_ITEM = re.compile(r"\b(?:\w+ing|is|are|was|were|has|have|had|does|off|more|then|both|between|rhinorrhea)\b")
"""Words of no list of nouns, and a symptom that notes often name twice in different words."""
_SUPPOSED = (("(?:is|are)", "may be"), ("(?:was|were)", "may have been"), ("has", "probably has"))
_DURATION = re.compile(
    r"(?<!every )(?<!to )\b(?P<number>\d+|two|three|four|five|six|seven|eight|nine|ten) "
    r"(?P<unit>hour|day|week|month|year)s\b"
    r"(?! (?:a|per|each)\b)"
)


@domain_cache(maxsize=1)
def _qualifier() -> re.Pattern[str]:
    """A severity or type before a symptom: of the domain, by the last word of its label, or of any other."""
    named = {label.split()[-1] for name, label in load_rules().labels.items() if name in load_rules().symptoms}
    words = "|".join(sorted(named | {"headache", "fatigue", "symptoms", "tenderness", "discomfort", "redness"}))
    return re.compile(
        r"\b(?:mild|moderate|severe|dry|productive|intermittent|persistent|constant|occasional|marked|"
        r"low-grade) "
        rf"(?=(?:\w+ )?(?:{words}|wheez\w+)\b)"
    )


def graded_pairs(note: str, sentence: str) -> list[tuple[str, str, str]]:
    """Kinds, premises and claims made from a ``sentence`` of ``note``; no premise entails its claim."""
    claims = {
        "another person": _another_person(sentence),
        "in the past": _in_the_past(sentence),
        "other unit": _other_unit(sentence),
        "other order": _other_order(sentence),
        "other degree": _other_degree(note, sentence),
    }
    premises = {
        "hedged in the note": _hedged(sentence),
        "qualifier taken out": _without_qualifier(sentence),
        "partly supported": _without_last_item(note, sentence),
    }
    found = [(kind, note, claim) for kind, claim in claims.items() if claim is not None]
    for kind, weaker in premises.items():
        premise = note if weaker is None else note.replace(sentence, weaker)
        qualifier = _qualifier().search(sentence)
        elsewhere = kind == "qualifier taken out" and qualifier is not None and qualifier.group().strip() in premise
        if weaker is not None and not elsewhere:
            found.append((kind, premise, sentence))
    return found


def _another_person(sentence: str) -> str | None:
    match = _SUBJECT.match(sentence)
    if match is None or re.search(r"\b(?:patient|his|her|he|she|they|their)\b|;", match["rest"]):
        return None
    person = _PERSONS[len(sentence) % len(_PERSONS)]
    return f"The patient's {person} {match['verb']} {match['rest']}"


def _in_the_past(sentence: str) -> str | None:
    match = _SUBJECT.match(sentence)
    if match is None or match["verb"] not in _PAST or _OTHER_TIMES.search(match["rest"]):
        return None
    return f"Five years ago, the patient {_PAST[match['verb']]} {match['rest']}"


def _other_unit(sentence: str) -> str | None:
    match = _DURATION.search(sentence)
    if match is None or (match["unit"] == "week" and match["number"].isdigit() and int(match["number"]) > 12):
        return None
    return sentence[: match.start("unit")] + UNITS[match["unit"]] + sentence[match.end("unit") :]


def _other_order(sentence: str) -> str | None:
    match = re.search(r"\b(before|after)(?= (?!that\b|which\b)\w)|(?<=\bin the )(morning|evening)\b", sentence)
    if match is None or _NEGATED.search(sentence):  # "no fall before or since" entails "no fall after"
        return None
    if len(re.findall(r"\b(?:before|after|morning|evening)\b", sentence)) > 1:
        return None
    return sentence[: match.start()] + _ORDERS[match.group()] + sentence[match.end() :]


def _other_degree(note: str, sentence: str) -> str | None:
    """The claim with another severity, which the note does not give to the same thing elsewhere."""
    match = re.search(rf"\b({'|'.join(_DEGREES)})\b(?P<of> \w+)", sentence)
    if match is None or _NEGATED.search(sentence):
        return None
    other = _DEGREES[match[1]]
    if f"{other}{match['of']}" in note:
        return None
    return sentence[: match.start()] + other + sentence[match.end(1) :]


def _without_last_item(note: str, sentence: str) -> str | None:
    """The sentence without the last item of its list, none of whose words occurs elsewhere in the note."""
    match = _LIST.match(sentence)
    if match is None or _NEGATED.search(sentence) or _NO_ITEM.search(f"{match['first']} {match['last']}"):
        return None
    *others, last = match["first"].split(", ")
    shorter = f"{match['head']}{', '.join(others)}{' and ' if others else ''}{last}."
    rest = note.replace(sentence, shorter).lower()
    words = [word for word in re.findall(r"\w+", match["last"].lower()) if len(word) > 3]
    return shorter if words and not any(word in rest for word in words) else None


def _hedged(sentence: str) -> str | None:
    """The sentence as a supposition, by a word in its midst where its verb allows one."""
    if _CLAUSE.match(sentence) is None:
        return None
    for verb, supposed in _SUPPOSED:
        made, count = re.subn(
            rf"^((?:The |There |Patient |He |She )(?:\w+ )?)\b{verb}\b (?!(?:been|not?|the)\b)",
            rf"\1{supposed} ",
            sentence,
        )
        if count:
            return made
    return f"It is possible that {sentence[0].lower()}{sentence[1:]}"


def _without_qualifier(sentence: str) -> str | None:
    match = _qualifier().search(sentence)
    if match is None or _NEGATED.search(sentence):  # "denies thirst" entails "denies severe thirst"
        return None
    before, after = sentence[: match.start()], sentence[match.end() :]
    if re.search(r"\b(?:and|or|to) $", before):  # "mild to severe pain"
        return None
    before = re.sub(r"\b([Aa])n? $", lambda found: f"{found[1]}{'n' if after[0] in 'aeiou' else ''} ", before)
    return f"{before}{after}" if before else after[0].upper() + after[1:]
