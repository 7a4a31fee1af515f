"""The cases of DocLens: claims that a text entails or not, statements with citations, and lists of claims.

The truth of some claims the simulated writer knows, who was asked for them and wrote, dropped, changed or left them
out: claims of the prompt against the note, sentences of the note against its compact version, and the reverse.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from schemas.params import Params
from tasks.domains.rules import PromptingRules, rules_of
from tasks.judges.cases import Asked, Cases, Corrected, Given, Row, case_verdict
from tasks.judges.shortening import (
    BY_WRITER,
    MIN_WORDS,
    PLANT_STREAM,
    Shortened,
    compactions,
    is_gone,
    listed_rows,
    make_shortened,
    prose_spans,
    statements,
)
from tasks.judges.simulated_notes import ERRING, STRIDE, compacted, written
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, unscored_row
from tasks.measures.doclens.citations import Statement, judge_citations
from tasks.measures.doclens.documents import prompt_claims
from tasks.measures.doclens.evaluators import Evaluator, Question, make_evaluator
from tasks.measures.doclens.judging import METRICS, named_symptoms
from tasks.measures.doclens.planted_claims import PlantedClaim, plant_claims
from tasks.measures.doclens.reworded import joined, reworded_claims
from tasks.measures.doclens.subclaims import list_subclaims
from tasks.simulator.truth import Truth
from tasks.text.sentences import sentences
from tasks.text.shorthand import shorten

STREAM = 103
RIGHT, REDUNDANT, WRONG = "right citation", "redundant citation", "wrong citation"
WRITTEN, DESCRIBED, UNDESCRIBED = "asked for and written", "descriptor written", "descriptor lost by the writer"
SHORTENED, CHANGED = "shortened by the writer", "detail changed by the writer"
FATES = {"symptom_dropped": "dropped by the writer", "contradicted": "contradicted by the writer"}
OF_PROMPTS = frozenset({WRITTEN, *FATES.values(), DESCRIBED, UNDESCRIBED})
"""Kinds of claims of the prompts."""


@dataclass(frozen=True)
class PlantedCitation:
    """A statement with citations of ``source``, whether these support it, and which of them are necessary."""

    document: str
    kind: str
    statement: str
    citations: tuple[int, ...]
    source: tuple[str, ...]
    supported: bool
    necessary: tuple[bool, ...]


def make_claims(given: Given) -> list[PlantedClaim]:
    """Claims planted by script; of a card also reworded ones, of simulated notes those whose truth the writer knows."""
    params, rules = given.params, rules_of(given.params.domain)
    claims = plant_claims(given.texts, [*rules.symptom_labels.values()], seed=params.seed)
    if given.card:
        return [*claims, *reworded_claims(given.texts, seed=params.seed)]
    if given.prompts is None:
        return claims
    rounds, seed = params.calibrate.rounds, params.seed
    asked = plant_written(given.prompts, rules, rounds=rounds, seed=seed)
    return [*claims, *asked, *plant_compacted(given.texts, given.prompts, rounds=rounds, seed=seed)]


def plant_written(prompts: pd.DataFrame, rules: PromptingRules, *, rounds: int, seed: int) -> list[PlantedClaim]:
    """Claims of the prompts against notes with planted errors, ``rounds`` notes a prompt.

    ``prompts`` has the columns record, single_prompt, mention, values and descriptors.
    """
    claims: list[PlantedClaim] = []
    for row in prompts.sort_values("record").to_dict("records"):
        mention = json.loads(str(row["mention"]))
        values, descriptors = json.loads(str(row["values"])), json.loads(str(row["descriptors"]))
        for at in range(rounds if mention else 0):
            number = (seed * rounds + at) * STRIDE + int(row["record"])
            note = written(str(row["single_prompt"]), ERRING, number)[0]
            for symptom in mention:
                claims += _claims(f"{row['record']}-{at}", note, symptom, values, descriptors, rules)
    return claims


def _claims(
    document: str,
    note: Truth,
    symptom: str,
    values: Mapping[str, str],
    descriptors: Mapping[str, str | None],
    rules: PromptingRules,
) -> list[PlantedClaim]:
    """The claim of a symptom's value and, if the prompt has a descriptor, that of the descriptor."""
    claim, *described = prompt_claims([symptom], values, descriptors, rules)

    def case(kind: str, one: str, true: bool) -> PlantedClaim:
        return PlantedClaim(document, kind, note.text, one, true, definitions=named_symptoms([one], rules.glossary))

    error = note.error.kind if note.error is not None and note.error.item == symptom else None
    if error in FATES:
        return [case(FATES[error], claim, False)]
    found = [case(WRITTEN, claim, True)] if error is None else []
    lost = error == "descriptor_lost"
    if error is None or lost:
        found += [case(UNDESCRIBED if lost else DESCRIBED, one, not lost) for one in described]
    return found


def plant_compacted(notes: Mapping[str, str], prompts: pd.DataFrame, *, rounds: int, seed: int) -> list[PlantedClaim]:
    """Claims from new compactions of ``notes``, by record; ``prompts`` has single_prompt by record.

    One compaction at the writer's usual rates gives the sentences kept, left out and shortened; ``rounds`` compactions
    by the writer that errs on purpose give the sentences with a changed detail.
    """
    claims: list[PlantedClaim] = []
    asked = prompts.set_index("record")["single_prompt"]
    for record, number, usual in compactions(notes, prompts, rounds=rounds, seed=seed):
        note = notes[record]
        if usual is not None:
            for fact, gone in usual.sentences():
                claims.append(PlantedClaim(usual.document, BY_WRITER[not gone], usual.summary, fact, not gone))
            claims += [
                PlantedClaim(usual.document, SHORTENED, note, usual.summary[start:end], True)
                for start, end in prose_spans(usual.summary)
            ]
        for at in range(rounds):
            erring = compacted(str(asked[int(record)]), Truth(note, (), None), ERRING, number + (at + 1) * STRIDE)
            if (error := erring.error) is not None and error.kind == "detail_changed" and error.start is not None:
                spans = [one for one in prose_spans(erring.text) if one[0] <= error.start < one[1]]
                told = [erring.text[start:end] for start, end in spans]
                claims += [PlantedClaim(f"{record}-changed-{at}", CHANGED, note, claim, False) for claim in told]
    return claims


async def judge_planted_claims(evaluator: Evaluator, planted: Sequence[PlantedClaim]) -> tuple[list[Row], Unscored]:
    """Claims of one premise form one question, in an order that does not depend on their truth."""
    groups: dict[tuple[str, str], list[PlantedClaim]] = {}
    for case in planted:
        groups.setdefault((case.document, case.premise), []).append(case)
    ordered, questions = [_ordered(cases) for cases in groups.values()], []
    for at, ((document, premise), cases) in enumerate(zip(groups, ordered, strict=True)):
        definitions = tuple(sorted({definition for case in cases for definition in case.definitions}))
        claims = tuple(case.claim for case in cases)
        questions.append(Question(f"{document}/planted/{at}", premise, claims, definitions))
    rows, unscored = list[Row](), list[dict[str, str | None]]()
    for cases, verdict in zip(ordered, await evaluator(questions), strict=True):
        for case, judged in zip(cases, verdict.judgements, strict=True):
            rows.append(case_verdict(case.document, "entailment", case.kind, case.claim, case.truth, judged))
        if verdict.failure is not None:
            unscored.append(unscored_row(cases[0].document, "planted claims", verdict.failure, verdict.raw))
    return rows, unscored


def _ordered(cases: Sequence[PlantedClaim]) -> list[PlantedClaim]:
    """Hash order, in rounds of one claim a source sentence, so that a sentence is not next to its changed twin."""

    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    seen, rounds = Counter[str](), []
    for case in sorted(cases, key=lambda case: digest(case.claim)):
        source = case.source or case.claim
        rounds.append((seen[source], digest(source), case))
        seen[source] += 1
    return [case for _, _, case in sorted(rounds, key=lambda row: row[:2])]


def plant_citations(notes: Mapping[str, str], *, seed: int) -> list[PlantedCitation]:
    """For each note one right, one redundant and one wrong citation of a sentence that is unlike the others."""
    random = np.random.default_rng([seed, PLANT_STREAM, 2])
    found = []
    for name in sorted(notes):
        source, worth = tuple(sentences(notes[name])), statements(notes[name])
        alone = [at for at, one in enumerate(source) if one in worth and is_gone(one, _rest(source, at))]
        if not alone or len(source) < 2:
            continue
        at = alone[int(random.integers(len(alone)))]
        others = [number for number in range(len(source)) if number != at]
        other = others[int(random.integers(len(others)))]
        for kind, cited, supported, necessary in (
            (RIGHT, (at,), True, (True,)),
            (REDUNDANT, (at, other), True, (True, False)),
            (WRONG, (other,), False, (False,)),
        ):
            found.append(PlantedCitation(name, kind, shorten(source[at]), cited, source, supported, necessary))
    return found


def joint_citations(notes: Mapping[str, str], *, seed: int) -> list[PlantedCitation]:
    """For each note a statement of two sentences with both, one, and one too many cited, and a near sentence cited."""
    random = np.random.default_rng([seed, STREAM])
    found = []
    for name in sorted(notes):
        source = tuple(sentences(notes[name]))
        prose = [at for at, one in enumerate(source) if one.endswith(".") and one[0].isupper()]
        alone = [at for at in prose if len(source[at].split()) >= MIN_WORDS and is_gone(source[at], _rest(source, at))]
        if len(alone) < 2 or len(source) < 4:
            continue
        first, second = sorted(int(at) for at in random.choice(alone, size=2, replace=False))
        others = [at for at in range(len(source)) if at not in (first, second) and len(source[at].split()) >= MIN_WORDS]
        if not others:
            continue
        third, one = int(random.choice(others)), source[first]
        near = max((at for at in range(len(source)) if at != first), key=lambda at: _alike(one, source[at]))
        both = joined(one, source[second])
        for kind, said, cited, supported, needed in (
            ("both needed citations", both, (first, second), True, (True, True)),
            ("one of two needed citations", both, (second,), False, (False,)),
            ("needed and superfluous citations", both, (first, third, second), True, (True, False, True)),
            ("citation of a near sentence", one, (near,), False, (False,)),
        ):
            found.append(PlantedCitation(name, kind, said, cited, source, supported, needed))
    return found


def _rest(source: Sequence[str], at: int) -> str:
    """The other sentences."""
    return " ".join([*source[:at], *source[at + 1 :]])


def _alike(one: str, other: str) -> float:
    """Share of the words of both that are in both."""
    words, more = (set(re.findall(r"[a-z]{4,}", text.lower())) for text in (one, other))
    return len(words & more) / max(len(words | more), 1)


async def judge_planted_citations(
    evaluator: Evaluator, planted: Sequence[PlantedCitation]
) -> tuple[list[Row], Unscored]:
    """Does the judge recognise supported statements and necessary citations?"""
    cases = {f"{one.document}/{one.kind}": one for one in planted}
    outputs = {key: [Statement(one.statement, one.citations)] for key, one in cases.items()}
    judged, failures = await judge_citations(evaluator, outputs, {key: one.source for key, one in cases.items()})
    rows: list[Row] = []
    for key, one in cases.items():
        supported, necessary = judged[key][0]
        shown = "\n".join(f"[{at}] {one.source[at]}" for at in one.citations)
        asked = {"premise": shown, "call": f"{one.document}/{one.kind}"}
        text = one.statement
        rows.append(case_verdict(one.document, "citation recall", one.kind, text, one.supported, supported, **asked))
        for number, truth, found in zip(one.citations, one.necessary, necessary, strict=True):
            text = f"{one.statement} [{number}]"
            rows.append(case_verdict(one.document, "citation precision", one.kind, text, truth, found, **asked))
    of = "planted citations"
    return rows, [unscored_row(cases[key].document, of, reason, raw) for key, reason, raw in failures]


async def judge_list(ask: Ask, planted: Sequence[Shortened], params: Params) -> tuple[list[Row], Unscored]:
    """Does the list of subclaims cover every sentence of the text, and none that was taken out of it?"""
    subclaims = await list_subclaims(ask, {one.document: one.summary for one in planted}, params.doclens)
    lists = {key: None if found.failure else found.claims for key, found in subclaims.items()}
    unscored = [unscored_row(k, "planted subclaims", c.failure, c.raw) for k, c in subclaims.items() if c.failure]
    return listed_rows(planted, lists, "subclaims"), unscored


_OF_COMPACT, _CITED = "compact notes", ("citation_recall", "citation_precision")
_MATCHED = {
    ("notes against prompts", "claim_recall"): ("entailment", OF_PROMPTS),
    (_OF_COMPACT, "claim_recall"): ("entailment", frozenset(BY_WRITER)),
    (_OF_COMPACT, "claim_precision"): ("entailment", frozenset({SHORTENED, CHANGED})),
    **{
        (f"cited {_OF_COMPACT}", name): (name.replace("_", " "), frozenset({RIGHT, REDUNDANT, WRONG}))
        for name in _CITED
    },
}
CASES = (
    Cases(
        "claims",
        make_claims,
        lambda ask, cases, params: judge_planted_claims(make_evaluator(params.doclens, ask), cases),
        {"claims": Asked("Does the text entail the claim?", "true claims", "false claims")},
        place=1,
        of_claims=lambda ask, questions, params: make_evaluator(params.doclens, ask)(questions),
        corrected=Corrected("doclens_judged", METRICS, _MATCHED),
    ),
    Cases(
        "citations",
        lambda given: [
            *plant_citations(given.texts, seed=given.params.seed),
            *(joint_citations(given.texts, seed=given.params.seed) if given.card else ()),
        ],
        lambda ask, cases, params: judge_planted_citations(make_evaluator(params.doclens, ask), cases),
        {
            "citation recall": Asked(
                "Do the cited sentences entail the statement?", "supported statements", "unsupported statements", True
            ),
            "citation precision": Asked(
                "Is the citation in brackets after the statement needed: do the cited sentences entail the statement, "
                "and this one alone, or not without it?",
                "needed citations",
                "citations that are not needed",
                True,
            ),
        },
        place=4,
        letter="r",
    ),
    Cases("subclaims", make_shortened, judge_list),
)
