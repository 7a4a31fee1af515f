"""Edits of a sentence of a note by script: what makes a claim untrue, or takes from the note what entails it.

A change puts another word: a negation, a number, a side, a body part or a drug; drugs and body parts are exchanged for
common or uncommon others. Graded edits name another person, the past, a degree, a unit or an order, or weaken the note
by a hedge or a missing part. Subtle ones stretch or widen a detail, move it from another sentence, or add it because
notes often have it. An edit is None where it would yield no possible sentence, or where the note could support it;
words of one meaning (`meanings`) count as the same. Words and patterns: terms.yaml, subtle.yaml; no judge reads them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import yaml

from tasks.text.sentences import sentences


@lru_cache(maxsize=8)
def words(file: str, package: str = "tasks.judges") -> dict[str, Any]:
    """The content of a YAML file of a package."""
    raw: dict[str, Any] = yaml.safe_load(files(package).joinpath(f"{file}.yaml").read_text(encoding="utf-8"))
    return raw


@lru_cache(maxsize=128)
def pattern(file: str, name: str, package: str = "tasks.judges") -> re.Pattern[str]:
    """A pattern of a file of words; "%name%" stands for any of the words that the file lists under that name."""
    listed = words(file, package)
    return re.compile(re.sub(r"%(\w+)%", lambda found: "|".join(listed[found[1]]), listed["patterns"][name]))


def put(text: str, match: re.Match[str], other: str, group: str | int = 0) -> str:
    """The text with ``other`` in place of the match, or of a group of it."""
    return text[: match.start(group)] + other + text[match.end(group) :]


def leave_out(sentence: str, match: re.Match[str]) -> str:
    """The sentence without the match, with the article before it adapted."""
    before, after = sentence[: match.start()], sentence[match.end() :]
    before = re.sub(r"\b([Aa])n? $", lambda found: f"{found[1]}{'n' if after[0] in 'aeiou' else ''} ", before)
    return f"{before}{after}" if before else after[0].upper() + after[1:]


@lru_cache(maxsize=2)
def terms(name: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Groups of exchangeable drugs or body parts; each term is a tuple of synonyms, the first of which is written."""
    return tuple(tuple(tuple(term.split("/")) for term in group) for group in words("terms")[name].values())


def change_term(claim: str, name: str, random: np.random.Generator, *, outside: bool) -> str | None:
    """``claim`` with its first term (of `terms`) exchanged for another of the group, an uncommon one if ``outside``.

    The new term does not occur in the claim. None if the claim has no term, or the group no other such term.
    """
    listed = words("terms")
    uncommon, no_noun = listed["uncommon"][name], listed["patterns"]["no_noun"]

    def plural(term: str) -> str:
        return str(listed["plurals"].get(term, f"{term}s"))

    named = [(group, term, known) for group in terms(name) for term in group for known in term]
    for group, term, known in named:
        either = rf"\b(?:{re.escape(known)}|({re.escape(plural(known))}))\b{no_noun}"
        match = re.search(either, claim, re.IGNORECASE)
        if match is not None:
            others = [other[0] for other in group if other is not term and other[0] not in claim.lower()]
            others = [other for other in others if (other in uncommon) is outside]
            if not others:
                return None
            other = others[int(random.integers(len(others)))]
            return _replaced(claim, match, plural(other) if match[1] else other)
    return None


def _replaced(claim: str, match: re.Match[str], other: str) -> str:
    """``claim`` with the match replaced, in its case, and the article before it adapted."""
    written = other.capitalize() if match.group()[0].isupper() else other
    before = claim[: match.start()]
    article = "an" if other[0] in "aeiou" else "a"
    before = re.sub(r"\b(an?) $", f"{article} ", before)
    return before + written + claim[match.end() :]


KINDS = ("negation", "number", "side", "body part", "drug")
OUTSIDE = ", outside the lexicon"
"""Added to the kind of a change whose new term is uncommon."""

_SIDES = {"left": "right", "right": "left"}
_TEMPERATURES = ((35.0, 41.5, (36.6, 37.2, 38.1, 38.9, 39.6)), (95.0, 106.0, (98.1, 99.2, 100.8, 102.1, 103.4)))
_MOST = {"hour": 23, "day": 29, "week": 11, "month": 11}


def change(claim: str, kind: str, random: np.random.Generator) -> str | None:
    """``claim`` with one change of ``kind``; None if it contains nothing that can be changed."""
    made = _CHANGES[kind](claim, random)
    return made if made is not None and made != claim else None


def _negation(claim: str, random: np.random.Generator) -> str | None:
    del random
    listed = words("terms")
    negate = () if re.search(r", with |\brelief\b", claim) else listed["negate"]  # no "was not used, with relief"
    for asked, other in (*listed["undo"], *negate):
        made, count = re.subn(asked, other, claim, count=1)
        if count and not re.search(r"\bnot (?:non|no longer)|\bnever\b|\bhave (?:likely|incidentally)", made):
            return made[:1].upper() + made[1:] if claim[:1].isupper() else made
    return None


def _number(claim: str, random: np.random.Generator) -> str | None:
    """One number changed within its plausible range; scores such as 4/5, pressures and dates are not changed."""
    made = [(match, _other(match, random)) for match in pattern("terms", "number").finditer(claim)]
    possible = [(match, other) for match, other in made if other is not None]
    if not possible:
        return None
    match, other = possible[int(random.integers(len(possible)))]
    return put(claim, match, other)


def _other(match: re.Match[str], random: np.random.Generator) -> str | None:
    value, unit = float(match.group()), match["unit"].strip().lower()
    if unit in ("mg", "mcg"):
        return f"{value * 2:g}" if int(random.integers(2)) or value % 2 else f"{value / 2:g}"
    if re.search(r"\b(?:respirat\w+(?: rate)?|RR)\W+(?:\w+ )?$", match.string[: match.start()], re.IGNORECASE):
        return str(random.choice([rate for rate in range(12, 29, 2) if abs(rate - value) >= 4]))
    if "." in match.group() or "°" in unit or unit.startswith("degree"):
        others = next((others for low, high, others in _TEMPERATURES if low <= value <= high), ())
        possible = [other for other in others if abs(other - value) >= 0.6]
        return str(random.choice(possible)) if possible else None
    if unit.startswith("%"):
        low = [percent for percent in range(88, 100) if abs(percent - value) >= 4]
        return str(random.choice(low)) if 85 <= value <= 100 else None
    if value < 2:  # "1 day" would need another noun
        return None
    if value <= 20:
        most = next((most for name, most in _MOST.items() if unit.startswith(name)), 40)
        near = [n for n in range(2, int(min(most, 2 * value + 4)) + 1) if abs(n - value) >= max(2, value / 3)]
        return str(random.choice(near)) if near else None
    return f"{round(value * float(random.choice([0.7, 1.3]))):d}" if value <= 200 else None


def _side(claim: str, random: np.random.Generator) -> str | None:
    del random
    if len(set(re.findall(r"\b(left|right|bilateral\w*|both)\b", claim.lower()))) != 1:
        return None  # "left more than left"
    match = pattern("terms", "sided").search(claim)
    return put(claim, match, _SIDES[match.group()]) if match else None


def _body_part(claim: str, random: np.random.Generator, *, outside: bool) -> str | None:
    """Only what any part can have, said of it in the same phrase: pain, tenderness, swelling, redness or an injury."""
    made = change_term(claim, "body_parts", random, outside=outside)
    if made is None or pattern("terms", "narrow").search(claim) or pattern("terms", "single").search(made):
        return None
    new = "|".join(re.escape(word.strip(".,;")) for word in made.split() if word not in claim.split())
    local = words("terms")["patterns"]["local"]
    near = rf"{local}(?: \w+){{0,4}} (?:{new})\b|\b(?:{new}),? {local}"
    return made if re.search(near, made, re.IGNORECASE) else None


_CHANGES: dict[str, Callable[[str, np.random.Generator], str | None]] = {
    "negation": _negation,
    "number": _number,
    "side": _side,
    "body part": lambda claim, random: _body_part(claim, random, outside=False),
    "drug": lambda claim, random: change_term(claim, "drugs", random, outside=False),
    "body part" + OUTSIDE: lambda claim, random: _body_part(claim, random, outside=True),
    "drug" + OUTSIDE: lambda claim, random: change_term(claim, "drugs", random, outside=True),
}
ALL_KINDS = tuple(_CHANGES)

UNITS = {"day": "week", "week": "month", "month": "week", "year": "month", "hour": "day"}
_ORDERS = {"before": "after", "after": "before", "morning": "evening", "evening": "morning"}
_PERSONS = ("mother", "father", "sister", "brother")
_PAST = {"reports": "reported", "describes": "described", "mentions": "mentioned", "has": "had", "takes": "took"}
_DEGREES = {"mild": "severe", "severe": "mild"}
_ADVERBS = "also|always|now|often|still|usually"
"""Before them no verb is supposed: "may be also" is no English."""
_SUPPOSED = (("(?:is|are)", "may be"), ("(?:was|were)", "may have been"), ("has", "probably has"))


def _find(name: str, text: str) -> re.Match[str] | None:
    return pattern("subtle", name).search(text)


@lru_cache(maxsize=1)
def _groups() -> dict[str, str]:
    return {word: group[0] for group in words("subtle")["same_meaning"] for word in group}


def meanings(said: Iterable[str]) -> set[str]:
    """The words, each as the first of its group of words that may state one thing: "smoker" may say "uses tobacco"."""
    return {_groups().get(word, word) for word in said}


@lru_cache(maxsize=8)
def _qualifier(symptoms: tuple[str, ...]) -> re.Pattern[str]:
    """A severity or type before a symptom: of the domain, by the last word of its label, or of any other."""
    named = {label.split()[-1] for label in symptoms} | set(words("subtle")["symptoms"])
    return re.compile(words("subtle")["patterns"]["qualifier"].replace("%symptoms%", "|".join(sorted(named))))


def graded_pairs(note: str, sentence: str, symptoms: Sequence[str]) -> list[tuple[str, str, str]]:
    """Kinds, premises and claims made from a ``sentence`` of ``note``; no premise entails its claim.

    ``symptoms``: names of the domain's symptoms.
    """
    qualifier = _qualifier(tuple(symptoms)).search(sentence)
    claims = {
        "another person": _another_person(sentence),
        "in the past": _in_the_past(sentence),
        "other unit": _other_unit(sentence),
        "other order": _other_order(sentence),
        "other degree": _other_degree(note, sentence),
    }
    premises = {
        "hedged in the note": _hedged(sentence),
        "qualifier taken out": _without_qualifier(sentence, qualifier),
        "partly supported": _without_last_item(note, sentence),
    }
    found = [(kind, note, claim) for kind, claim in claims.items() if claim is not None]
    for kind, weaker in premises.items():
        premise = note if weaker is None else note.replace(sentence, weaker)
        elsewhere = kind == "qualifier taken out" and qualifier is not None and _stated(qualifier.group(), premise)
        if weaker is not None and not elsewhere:
            found.append((kind, premise, sentence))
    return found


def _stated(qualifier: str, text: str) -> bool:
    """Whether the text has the qualifier, or a word of the same meaning."""
    said, known = (meanings(re.findall(r"[a-z]+", one.lower())) for one in (qualifier, text))
    return qualifier.strip() in text or bool(said & known & set(_groups().values()))


def _another_person(sentence: str) -> str | None:
    match = _find("subject", sentence)
    if match is None or re.search(r"\b(?:patient|his|her|he|she|they|their)\b|;", match["rest"]):
        return None
    person = _PERSONS[len(sentence) % len(_PERSONS)]
    return f"The patient's {person} {match['verb']} {match['rest']}"


def _in_the_past(sentence: str) -> str | None:
    match = _find("subject", sentence)
    if match is None or match["verb"] not in _PAST or _find("other_times", match["rest"]):
        return None
    return f"Five years ago, the patient {_PAST[match['verb']]} {match['rest']}"


def _other_unit(sentence: str) -> str | None:
    match = _find("duration", sentence)
    if match is None or (match["unit"] == "week" and match["number"].isdigit() and int(match["number"]) > 12):
        return None
    return put(sentence, match, UNITS[match["unit"]], "unit")


def _other_order(sentence: str) -> str | None:
    match = re.search(r"\b(before|after)(?= (?!that\b|which\b)\w)|(?<=\bin the )(morning|evening)\b", sentence)
    if match is None or _find("denial", sentence):  # "no fall before or since" entails "no fall after"
        return None
    if len(re.findall(r"\b(?:before|after|morning|evening)\b", sentence)) > 1:
        return None
    return put(sentence, match, _ORDERS[match.group()])


def _other_degree(note: str, sentence: str) -> str | None:
    """The claim with another severity, which the note does not give to the same thing elsewhere."""
    match = re.search(rf"\b({'|'.join(_DEGREES)})\b(?P<of> \w+)", sentence)
    if match is None or _find("denial", sentence):
        return None
    other = _DEGREES[match[1]]
    if f"{other}{match['of']}" in note:
        return None
    return put(sentence, match, other, 1)


def _without_last_item(note: str, sentence: str) -> str | None:
    """The sentence without the last item of its list, none of whose words occurs elsewhere in the note."""
    match = _find("list", sentence)
    if match is None or _find("denial", sentence) or _find("summed_up", sentence):
        return None
    if _find("no_item", f"{match['first']} {match['last']}"):
        return None
    *others, last = match["first"].split(", ")
    shorter = f"{match['head']}{', '.join(others)}{' and ' if others else ''}{last}."
    rest = note.replace(sentence, shorter).lower()
    words = [word for word in re.findall(r"\w+", match["last"].lower()) if len(word) > 3]
    return shorter if words and not any(word in rest for word in words) else None


def _hedged(sentence: str) -> str | None:
    """The sentence as a supposition, by a word in its midst where its verb allows one."""
    if _find("clause", sentence) is None:
        return None
    for verb, supposed in _SUPPOSED:
        made, count = re.subn(
            rf"^((?:The |There |Patient |He |She )(?:\w+ )?)\b{verb}\b (?!(?:been|not?|the|{_ADVERBS})\b)",
            rf"\1{supposed} ",
            sentence,
        )
        if count:
            return made
    return f"It is possible that {sentence[0].lower()}{sentence[1:]}"


def _without_qualifier(sentence: str, match: re.Match[str] | None) -> str | None:
    if match is None or _find("denial", sentence):  # "denies thirst" entails "denies severe thirst"
        return None
    beside = re.search(r"\b(?:and|or|to) $", sentence[: match.start()])  # "mild to severe pain"
    return None if beside else leave_out(sentence, match)


def subtle_claims(note: str, sentence: str) -> list[tuple[str, str]]:
    """Kinds and claims made from a ``sentence`` of ``note``; the note states none of them in full."""
    made = {
        "quantifier changed": _quantifier(sentence),
        "denial made wider": _wider_denial(note, sentence),
        "usual detail added": _usual_detail(note, sentence),
        "course added": _course(note, sentence),
        "cause invented": _cause(note, sentence),
        "time of another finding": _other_time(note, sentence),
        "past given as present": _present(note, sentence),
    }
    return [(kind, claim) for kind, claim in made.items() if claim is not None and claim not in note]


def change_detail(note: str, sentence: str, random: np.random.Generator) -> str | None:
    """``sentence`` with another number, unit, side, order, degree, quantifier or wider denial; None if it has none."""
    made = [change(sentence, kind, random) for kind in ("number", "side")]
    made += [_other_unit(sentence), _other_order(sentence), _other_degree(note, sentence)]
    made += [_quantifier(sentence), _wider_denial(note, sentence)]
    possible = [claim for claim in made if claim is not None]
    return possible[int(random.integers(len(possible)))] if possible else None


def _quantifier(sentence: str) -> str | None:
    for asked, other in words("subtle")["quantifiers"]:
        made, count = re.subn(asked, other, sentence, count=1)
        if count and not _find("negated", sentence):
            return made
    return None


def _wider_denial(note: str, sentence: str) -> str | None:
    """A denial without its qualifier: "no recent travel" does not say "no travel"."""
    match = _find("wider", sentence)
    if match is None or note.lower().count(match["denied"]) > 1 or _find("summed_up", sentence):
        return None
    between = re.sub(r" a$", "", match["between"])
    return f"{sentence[: match.end('denial')]}{between}{sentence[match.end() :]}"


def _usual_detail(note: str, sentence: str) -> str | None:
    """What often goes with a finding, added to it: the last of a denied list, or a finding of the examination."""
    denied = _find("denied_list", sentence)
    if denied is not None and not _find("no_list", denied["list"]):
        absent = [added for added, mentioned in words("subtle")["companions"] if not _says(note, mentioned)]
        if absent:
            first = denied["first"]  # of two items, which are three now, or of a longer list
            rest = re.sub(r"^ (or|and) ", r", \1 ", sentence[denied.end("first") :])
            added = absent[len(sentence) % len(absent)]
            return f"{sentence[: denied.start('first')]}{first}, {added}{rest}"
    if _find("summed_up", sentence):
        return None
    for asked, added, mentioned in words("subtle")["findings"]:
        match = re.search(asked, sentence, re.IGNORECASE)
        if match is not None and not _says(note, mentioned) and not _find("negated", match.group()):
            rest = sentence[match.end() :]
            return None if _find("goes_on", rest) else f"{sentence[: match.end()]}{added}{rest}"
    return None


def _says(note: str, mentioned: str) -> bool:
    return re.search(mentioned, note, re.IGNORECASE) is not None


def _course(note: str, sentence: str) -> str | None:
    """A course of the complaint, where the note gives none."""
    begins = _find("complaint", sentence) and _find("time", sentence) and not _find("negated", sentence)
    if not begins or _find("course", note.lower()):
        return None
    return f"{sentence[:-1]}, getting gradually worse."


def _cause(note: str, sentence: str) -> str | None:
    """Two findings of the note, joined by a cause that the note does not state."""
    cause = _find("cause", note)
    if cause is None or not _find("complaint", sentence) or _find("negated", sentence) or _find("causal", note.lower()):
        return None
    if cause["cause"].lower() in sentence.lower() or _find("cause", sentence):
        return None
    return f"{sentence[:-1]}, caused by the {cause['cause']}."


def _other_time(note: str, sentence: str) -> str | None:
    """A finding without a time, with the duration that the note gives for another."""
    if not _find("reported", sentence) or _find("times", sentence) or _find("negated", sentence):
        return None
    if len(sentence.split()) > 14 or re.search(r"[,;]| as | had | history ", sentence):
        return None
    for other in sentences(note):
        time = _find("time", other)
        if time is not None and not _find("negated", other) and not _words(other) & _words(sentence):
            return f"{sentence[:-1]} {time.group()}."
    return None


def _words(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"[a-z]{4,}", text.lower()) if word not in ("patient", "reports", "with")}


def _present(note: str, sentence: str) -> str | None:
    for asked, claim, mentioned in words("subtle")["past"]:
        if re.search(asked, sentence) and not _find("negated", sentence):
            return None if _says(note, mentioned) else claim
    return None


Edit = tuple[str, str, str]
"""Kind, premise and claim; the premise does not entail the claim."""


def edits(note: str, sentence: str, symptoms: Sequence[str], random: np.random.Generator) -> Iterator[Edit]:
    """All edits of a ``sentence`` of ``note``. ``symptoms``: names of the domain's symptoms."""
    for kind in ALL_KINDS:
        claim = change(sentence, kind, random)
        if claim is not None and claim not in note:
            what, comma, where = kind.partition(",")
            yield f"{what} changed{comma}{where}", note, claim
    yield from graded_pairs(note, sentence, symptoms)
    yield from ((kind, note, claim) for kind, claim in subtle_claims(note, sentence))
