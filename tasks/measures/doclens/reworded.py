"""Claims that cannot be judged by their words: true ones in other words than the text, false ones in the text's own.

Those of `planted_claims` are true where they stand in the text, and false ones mostly differ from it in a word; a judge
that looks the claim up in the text is right on these. Here every true claim is made of a sentence by a rule
that keeps its truth (another unit, a name of the same thing, another construction, a part, a weaker statement, two
facts in one), and every false claim by exchanging what the text says of two things. A rule makes nothing where its
truth would depend on more than the sentence. Words: claims.yaml.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from tasks.judges.edits import change, leave_out, pattern, put, words
from tasks.judges.shortening import statements
from tasks.measures.doclens.planted_claims import PlantedClaim

STREAM = 101
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
NUMBERS = {word: at for at, word in enumerate(_WORDS, 2)}
DAYS = {"hour": 1 / 24, "day": 1, "week": 7, "month": 30, "year": 365}
_SMALLER = {"week": ("days", 7, 8), "year": ("months", 12, 5)}
"""Unit, how many of it, and the largest number that is written in it."""
SLOW, FAST = 60, 100
"""Heart rates, in beats per minute, that a weaker claim compares with."""
Rule = Callable[[str], str | None]


_words = partial(words, "claims", "tasks.measures.doclens")


def _find(name: str, text: str) -> re.Match[str] | None:
    return pattern("claims", name, "tasks.measures.doclens").search(text)


def reworded_claims(notes: Mapping[str, str], *, seed: int) -> list[PlantedClaim]:
    """Claims of all kinds about each note."""
    random = np.random.default_rng([seed, STREAM])
    found: list[PlantedClaim] = []
    for name in sorted(notes):
        note = notes[name]
        own = [one for one in statements(note) if "\n" not in one]
        for kind, claim, truth, source in [*_reworded(own, random), *_exchanged(own, random)]:
            if claim not in note:
                found.append(PlantedClaim(name, kind, note, claim, truth, source))
    return found


Made = tuple[str, str, bool, str]
"""Kind, claim, truth, and the sentence that it is made of."""


def _reworded(own: Sequence[str], random: np.random.Generator) -> Iterator[Made]:
    """True claims: each rule on each sentence, and two sentences that are far from each other as one."""
    plain = []
    for sentence in own:
        made = [(kind, rule(sentence)) for kind, rule in REWORDED.items()]
        found = [(kind, claim) for kind, claim in made if claim is not None and claim != sentence]
        yield from ((kind, claim, True, sentence) for kind, claim in found)
        if not _find("leans", sentence):
            other = [claim for kind, claim in found if kind not in (PART, WEAKER, SHORT)]
            plain.append((sentence, other[int(random.integers(len(other)))] if other else None))
    for at, (first, _) in enumerate(plain):
        for second, reworded in plain[at + 2 :]:
            if _find("joins", second) and first.count(" ") + second.count(" ") < 40:
                yield JOINED, joined(first, second), True, second
                if reworded is not None and _find("joins", reworded):
                    yield JOINED_REWORDED, joined(first, reworded), True, second
                break


def joined(first: str, second: str, by: str = ", and ") -> str:
    """Two sentences as one."""
    return f"{first[:-1]}{by}{second[0].lower()}{second[1:]}"


def _number_form(sentence: str) -> str | None:
    """Two years, 2 years."""
    match = _find("duration", sentence)
    if match is None:
        return None
    given = match["number"]
    known = {str(value): word for word, value in NUMBERS.items()}
    other = str(NUMBERS[given]) if given in NUMBERS else known.get(given)
    return None if other is None else put(sentence, match, other, "number")


def _amount(match: re.Match[str]) -> int:
    return NUMBERS.get(match["number"]) or int(match["number"])


def _same_value(sentence: str) -> str | None:
    """The same value in another unit: exact ones, and degrees to the tenth that thermometers show."""
    celsius, length, time = (_find(name, sentence) for name in ("celsius", "millimetres", "duration"))
    if celsius is not None:
        return put(sentence, celsius, f"{float(celsius['value']) * 9 / 5 + 32:.1f} °F")
    if length is not None:
        return put(sentence, length, f"{int(length['value']) / 10:g} cm")
    if time is None or time["unit"] not in _SMALLER:
        return None
    unit, times, most = _SMALLER[time["unit"]]
    return put(sentence, time, f"{_amount(time) * times} {unit}") if _amount(time) <= most else None


def _replaced(listed: str, most: int, sentence: str) -> str | None:
    """The sentence with the first ``most`` entries of a list that occur in it, each once."""
    made = sentence
    for asked, other in _words()[listed]:
        changed = re.sub(asked, other, made, count=1)
        most -= changed != made
        made = changed
        if not most:
            break
    return made[0].upper() + made[1:] if made != sentence else None


def _in_shorthand(sentence: str) -> str | None:
    made = _replaced("shorthand", 9, sentence)
    return None if made is None else pattern("claims", "article", "tasks.measures.doclens").sub("", made)


def _other_construction(sentence: str) -> str | None:
    """Another construction with the same content: nominal for verbal, passive for active, a cleft sentence."""
    if (match := _find("absent", sentence)) is not None:
        return f"The absence of {re.sub(r' or ', ' and ', match['what'])} is recorded."
    if (match := _find("unseen", sentence)) is not None:
        what = re.sub(r",? or ", " and ", match["what"]) if match["verb"] in ("are", "were") else match["what"]
        if re.search(r"\b(?:or|other|additional|further|more|longer)\b", what):
            return None
        return f"{what[0].upper()}{what[1:]} {match['verb']} not {match['done']}{match['rest']}."
    if (match := _find("noted", sentence)) is not None:
        return f"There {match['verb']} {match['what'][0].lower()}{match['what'][1:]}."
    if (match := _find("reveals", sentence)) is not None:
        return f"What {match['how'][0].lower()}{match['how'][1:]} reveals is {match['what']}."
    if (match := _find("reported", sentence)) is not None and "has " not in sentence[:16]:
        return f"The history that the patient gives includes {match['what']}{match['rest'] or ''}."
    return None


def _items(denied: re.Match[str]) -> list[str]:
    """The items of a denied list, which the pattern finds where no adjective of one could belong to another."""
    return re.split(r",? (?:or|and) |, ", denied["list"])


def _other_order(sentence: str) -> str | None:
    """A denied list from its end."""
    match = _find("denied", sentence)
    if match is None:
        return None
    *others, last = _items(match)[::-1]
    return f"{sentence[: match.start('list')]}{', '.join(others)} or {last}."


def _part(sentence: str) -> str | None:
    """One item of a denied list, or a finding without what is added to it."""
    if (denied := _find("denied", sentence)) is not None:
        items = _items(denied)
        return f"There is no {items[len(sentence) % (len(items) - 1)]}."
    match = _find("tail", sentence)
    return None if match is None or _find("denial", sentence) else f"{match['head']}."


def _weaker(sentence: str) -> str | None:
    """A shorter time, a value beyond a limit, or a finding without its degree; of what is affirmed only."""
    if _find("denial", sentence):
        return None
    rate, time, degree = (_find(name, sentence) for name in ("rate", "duration", "qualifier"))
    if rate is not None:
        value = int(rate["rate"])
        beyond = f"above {SLOW}" if value > SLOW else f"below {FAST}"
        return f"The heart rate is {beyond} beats per minute."
    if time is not None and _amount(time) >= 3 and _find("lasting", sentence[: time.start()]):
        before = sentence[: time.start()]
        least = re.sub(r"\bfor (the (?:past|last) )?$", r"for at least \1", before)
        return f"{least}{_amount(time) - 1} {time['unit']}s{sentence[time.end() :]}"
    if degree is None or re.search(
        r"\b(?:from|to|more|less|and|or|very|only|rather|but) $", sentence[: degree.start()]
    ):
        return None
    return leave_out(sentence, degree)


PART, WEAKER, SHORT = "part of a sentence", "weaker than the text", "in shorthand"
JOINED, JOINED_REWORDED = "two sentences in one", "two sentences in one, reworded"
REWORDED: dict[str, Rule] = {
    "other form of a number": _number_form,
    "same value in another unit": _same_value,
    "other name of the same": partial(_replaced, "synonyms", 1),
    "shorthand written out": partial(_replaced, "expanded", 9),
    SHORT: _in_shorthand,
    "other construction": _other_construction,
    "list in another order": _other_order,
    PART: _part,
    WEAKER: _weaker,
}


def _exchanged(own: Sequence[str], random: np.random.Generator) -> Iterator[Made]:
    """False claims in the words of the text: values, negations, causes and roles exchanged."""
    for at, sentence in enumerate(own):
        others = [*own[:at], *own[at + 1 :]]
        made = {
            "values exchanged": _vitals_exchanged(sentence) or _longer_time(sentence, others),
            "roles exchanged": _roles_exchanged(sentence),
            **_two_in_one(sentence, own[at + 2 :], random),
        }
        yield from ((kind, claim, False, sentence) for kind, claim in made.items() if claim is not None)


def _two_in_one(first: str, later: Sequence[str], random: np.random.Generator) -> dict[str, str]:
    """Two sentences in one, of which one is denied, both are turned round, or one is the cause of the other."""
    found: dict[str, str] = {}
    if _find("leans", first):
        return found
    for second in later:
        if not _find("joins", second) or first.count(" ") + second.count(" ") > 40:
            continue
        one, other = change(first, "negation", random), change(second, "negation", random)
        if other is not None:
            found.setdefault("one of two sentences denied", joined(first, other))
        denied = [_find("denial", sentence) is not None for sentence in (first, second)]
        if one is not None and other is not None and any(denied) and not all(denied):
            found.setdefault("negation moved to another sentence", joined(one, other))
        if not any(denied) and not _find("causal", f"{first} {second}"):
            found.setdefault("cause between two sentences", joined(first, second, ", because "))
    return found


def _vitals_exchanged(sentence: str) -> str | None:
    """The heart rate and the diastolic pressure, each as the other."""
    match = _find("pressure", sentence)
    if match is None or match["low"] == match["rate"]:
        return None
    return put(sentence, match, f"{match['before']}{match['high']}/{match['rate']}{match['between']}{match['low']}")


def _lasting(sentence: str) -> re.Match[str] | None:
    """How long a finding has lasted."""
    match = _find("duration", sentence)
    return match if match is not None and _find("so_long", sentence[: match.start()]) else None


def _longer_time(sentence: str, others: Sequence[str]) -> str | None:
    """A finding with the time of another, which is longer: a shorter one would follow from its own."""
    time = _lasting(sentence)
    if time is None or _find("denial", sentence):
        return None
    for other in others:
        found = _lasting(other)
        if found is not None and _amount(found) * DAYS[found["unit"]] > 1.5 * _amount(time) * DAYS[time["unit"]]:
            return put(sentence, time, found.group())
    return None


def _roles_exchanged(sentence: str) -> str | None:
    """The effect as the cause."""
    match = _find("effect", sentence)
    if match is None:
        return None
    cause = match["cause"][0].lower() + match["cause"][1:]
    return f"{match['what'][0].upper()}{match['what'][1:]} {match['verb']} {cause}."
