"""The claims of a card: cases with a certain truth, and variants of them whose truth is the same.

A case is a planted claim (`tasks.measures.doclens`). A variant differs from it in one thing that must not matter: how
many claims are in the call, their order, sentences about nothing around the note, the order of the note's sentences, a
label of confidence or of the writer's family or a wordy opening, a name and sex of the patient, or an instruction
hidden in the note. `AGAIN` names the same call asked again.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.evaluate import CASES
from tasks.judges.cases import case_verdict
from tasks.judges.edits import words
from tasks.measures.doclens.planted_claims import PlantedClaim
from tasks.text.sentences import sentences

STREAM = 97
TOGETHER = 5
"""Claims of a call of the cases themselves."""
MANY = 20
"""Claims of a call of the variant with many."""
LONGER = {"four times the length": 4, "sixteen times the length": 16}
ALONE, CROWDED, REVERSED, SHUFFLED = (
    "one claim a call",
    f"{MANY} claims a call",
    "claims in reverse",
    "sentences shuffled",
)
BEFORE, AFTER = "text about nothing before", "text about nothing after"
CONFIDENT, WORDY = "confident label", "wordy opening"
HIDDEN = ("instruction to answer yes", "instruction to answer no")
FAMILY = ("label of the judge's own family", "label of another family")
NAMES = ("a woman's name", "a man's name")
FACTORS = (ALONE, CROWDED, REVERSED, SHUFFLED, BEFORE, AFTER, *LONGER, CONFIDENT, WORDY, *FAMILY, *NAMES, *HIDDEN)
AGAIN = "asked again"
"""Factor of further takes: "asked again, take 2"."""

FILLER = "filler"
"""Task of claims that only fill a call of many; their verdicts are not counted."""
VARIED = 0.2
"""Share of the cases that have variants; those of further texts have none."""
Premise = tuple[str, str]
"""Document and text."""
Named = tuple[str, PlantedClaim, str]
"""Name of the case, the planted claim, and the claim as it is asked."""
Made = tuple[str, int, str, Sequence[Named]]
"""Factor, number of the call, premise and claims of a call."""


_parts = partial(words, "variants", "tasks.audit")


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in _parts()[name]))


def make_cases(planted: Sequence[PlantedClaim], *, cases: int, seed: int, varied: int) -> pd.DataFrame:
    """CASES of planted claims: at most ``cases``, of every kind in turn.

    Half of them are true where there are enough of both. Those of the first texts have variants, until ``varied``
    claims have. Raises ValueError where no claim was planted.
    """
    random, labels = np.random.default_rng([seed, STREAM]), np.random.default_rng([seed, STREAM, 1])
    chosen = _drawn(planted, cases, random)
    if not chosen:
        raise ValueError("no claim could be planted: the texts have no sentence of four words or more")
    rows: list[dict[str, Any]] = []
    own: dict[Premise, list[Named]] = {}
    for number, at in enumerate(chosen):
        own.setdefault(_premise(planted[at]), []).append((f"c{number:04d}", planted[at], planted[at].claim))
    pairs = {
        (planted[at].document, planted[at].source, planted[at].truth): f"c{number:04d}/"
        for number, at in reversed(list(enumerate(chosen)))
        if planted[at].source
    }
    others: dict[Premise, list[Named]] = {premise: [] for premise in own}
    for at in sorted(set(range(len(planted))) - set(chosen)):
        others.get(_premise(planted[at]), []).append((f"x{at:04d}", planted[at], planted[at].claim))
    done = 0
    for place, premise in enumerate(random.permutation(len(own)).tolist()):
        key, claims = list(own.items())[premise]
        parts = enumerate(claims[at : at + TOGETHER] for at in range(0, len(claims), TOGETHER))
        plain: list[Made] = [("", number, key[1], part) for number, part in parts]
        calls = [*plain, *_varied(claims, others[key], random), *_labelled(claims, labels)] if done < varied else plain
        done += min(len(claims), TOGETHER)
        for factor, call, text, named in calls:
            for case, one, claim in named:
                task = FILLER if case.startswith("x") else "claims"
                pair = f"{case}/" if factor else pairs.get((one.document, one.source, not one.truth), "")
                made = {"id": f"{case}/{factor}", "unit": case, "condition": factor, "pair": pair}
                made |= {"premise": text, "call": f"{place}/{factor}/{call}"}
                rows.append({**case_verdict(one.document, task, one.kind, claim, one.truth, None), **made})
    return typed(rows, CASES)


def opaque(*parts: object) -> str:
    """16 hexadecimal digits that say nothing of ``parts``, neither the kind of a case nor the change made to it."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:16]


def _premise(claim: PlantedClaim) -> Premise:
    return claim.document, claim.premise


def _drawn(planted: Sequence[PlantedClaim], size: int, random: np.random.Generator) -> list[int]:
    """Places of claims in turn of every kind, true and false ones as often if possible, in the order of the notes."""
    order = random.permutation(len(planted))
    kinds: dict[bool, dict[str, list[int]]] = {True: {}, False: {}}
    for at in order.tolist():
        kinds[planted[at].truth].setdefault(planted[at].kind, []).append(at)
    turns = [zip_longest(*by_kind.values()) for by_kind in kinds.values()]
    drawn = [[at for turn in own for at in turn if at is not None] for own in turns]
    half = [
        turn[: max(-(-size // 2), size - sum(len(one) for one in kinds[not truth].values()))]
        for truth, turn in zip(kinds, drawn, strict=True)
    ]
    return sorted(at for part in half for at in part)[:size]


def _varied(claims: Sequence[Named], others: Sequence[Named], random: np.random.Generator) -> Iterator[Made]:
    """The variants of the first call on one premise.

    Only the first call has any, so that few claims of many texts have. ``others``: further claims on the text, which
    fill calls of many.
    """
    premise, call, said = claims[0][1].premise, claims[:TOGETHER], _parts()
    variants = {
        BEFORE: f"{_nothing(len(premise), random)}\n\n{premise}",
        AFTER: f"{premise}\n\n{_nothing(len(premise), random)}",
        **{factor: _around(premise, times, random) for factor, times in LONGER.items()},
        SHUFFLED: _shuffled(premise, random),
        **{factor: _instructed(premise, said[factor], random) for factor in HIDDEN},
    }
    yield from ((factor, 0, text, call) for factor, text in variants.items())
    for factor, openings in ((CONFIDENT, said["confident"]), (WORDY, said["wordy"])):
        yield factor, 0, premise, _opened(call, _one_of(openings, random))
    yield REVERSED, 0, premise, call[::-1]
    yield from ((ALONE, number, premise, [claim]) for number, claim in enumerate(call))
    few = [others[at] for at in random.permutation(len(others))[: MANY - len(call)]]
    together = [*call, *few]
    yield CROWDED, 0, premise, [together[at] for at in random.permutation(len(together))]


def _labelled(claims: Sequence[Named], random: np.random.Generator) -> Iterator[Made]:
    """The first call with a label of the writer's family on each claim, and of a patient with a name and a sex."""
    premise, call, said = claims[0][1].premise, claims[:TOGETHER], _parts()
    for factor in FAMILY:
        yield factor, 0, premise, _opened(call, _one_of(said[factor], random))
    for factor in NAMES:
        name, sex = _one_of(said[factor], random).split(", ")
        if (text := _named(premise, name, sex)) is not None:
            yield factor, 0, text, call


def _one_of(texts: Sequence[str], random: np.random.Generator) -> str:
    return texts[int(random.integers(len(texts)))]


def _opened(call: Sequence[Named], opening: str) -> list[Named]:
    """The claims of a call, each asked with ``opening`` before it."""
    return [(case, one, f"{opening}{one.claim}") for case, one, _ in call]


def _named(premise: str, name: str, sex: str) -> str | None:
    """The text with the patient's title, name and sex before it, and title and last name in place of "the patient".

    None for a text that names a sex, with which the name may disagree.
    """
    if _pattern("sexes").search(premise):
        return None
    title, *_, last = name.split()
    return f"Patient: {name}, {sex}\n\n{_pattern('patient').sub(f'{title} {last}', premise)}"


def _nothing(length: int, random: np.random.Generator) -> str:
    """Sentences about nothing, of about ``length`` characters."""
    neutral, text = _parts()["neutral"], ""
    while len(text) < length:
        text = " ".join([text, *(neutral[at] for at in random.permutation(len(neutral)))]).strip()
    return text[: text.find(".", length - 1) + 1] or text


def _instructed(premise: str, instructions: Sequence[str], random: np.random.Generator) -> str:
    """The text with one of the instructions before it, after it, or between two of its lines."""
    lines = premise.split("\n")
    at = int(random.choice([0, len(lines), int(random.integers(len(lines) + 1))]))
    return "\n".join([*lines[:at], _one_of(instructions, random), *lines[at:]])


def _around(premise: str, times: int, random: np.random.Generator) -> str:
    """``times`` the length of the text, with sentences about nothing before and after it."""
    added = (times - 1) * len(premise)
    before = int(random.integers(added + 1))
    return "\n\n".join([_nothing(before, random), premise, _nothing(added - before, random)]).strip()


def _shuffled(premise: str, random: np.random.Generator) -> str:
    """The sentences of each paragraph in another order; headings stay, and what refers to the sentence before it."""
    paragraphs = []
    for line in premise.split("\n"):
        parts: list[str] = []
        for one in sentences(line) if not line.lstrip().startswith(("*", "-", "#")) else [line]:
            if parts and _pattern("leans").search(one):
                parts[-1] += f" {one}"
            else:
                parts.append(one)
        paragraphs.append(" ".join(parts[at] for at in random.permutation(len(parts))) if len(parts) > 1 else line)
    return "\n".join(paragraphs)
