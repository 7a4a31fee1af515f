"""Judges which facts of each source its summaries omit: MED-OMIT on any documents.

Whole outputs are judged against whole sources; or, as in the paper (Table 3), the subjective sections of outputs
against dialogues truncated to the history.

Its detection of omissions is measured on summaries rewritten without chosen facts, as in MED-OMIT's released templates;
the paper does not report this test. It needs a writer that follows instructions: the simulator's does not rewrite.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import ValidationInfo, field_validator

from schemas.params.learning import Embed
from schemas.params.measures import MedOmit
from schemas.tables.verdicts import LOST, verdict_table
from tasks.llm.ask_all import Unscored, ask_all, ask_texts
from tasks.llm.calls import Ask, Call, Reply, unscored_row, unscored_table
from tasks.llm.printed import in_users_form
from tasks.llm.prompts import render
from tasks.llm.requests import tokens_needed
from tasks.measures.measure import Metric, Metrics
from tasks.measures.med_omit.cases import Case, Extents, add_differential, build_cases, cases_of, find_omissions
from tasks.measures.med_omit.fact_score import (
    IMPORTANCE,
    LIKELIHOODS,
    DiagnosisNames,
    Encode,
    Variant,
    differential_difference,
    fact_score,
    renamed,
    uniqueness,
)
from tasks.measures.med_omit.replies import fact_lines
from tasks.statistics.intervals import COUNT
from tasks.text.soap import split_soap
from tasks.texts.document import SOURCE, WHOLE, Document, Tables, system_names

NAME = "med_omit"
WRITER = "writer"
"""The writer's own subjective summaries as a system."""
OMITTED, GRADED, UNIQUE, DIAGNOSES = "omitted", "importance", "uniqueness", "differential"
"""Metrics of the verdicts: of each output's facts; of the source's, by category (truth: by the network); its facts in
sub-clusters; its diagnoses, the most likely first. The weight of a fact is what its omission counts."""
# --8<-- [start:metrics]
_OF_FACTS: dict[str, Any] = {"of": OMITTED, "pooled": False, "deviation": True, "common": True, "compared": True}
OMISSIONS: Metrics = {
    "omission_count": Metric(
        **_OF_FACTS, kind="sum", bounds=COUNT, meaning="number of the source's facts that an output omits"
    ),
    "omission_share": Metric(
        **_OF_FACTS,
        removal="rises",
        task="omissions",
        label="facts omitted",
        meaning="share of the source's facts that the output leaves out; lower is better",
    ),
    "omission_weight": Metric(
        **_OF_FACTS,
        kind="weight",
        bounds=COUNT,
        weights=(min(IMPORTANCE.values()), 1.0),
        removal="rises",
        label="omission weight",
        meaning="sum of the weights of the facts left out; lower is better",
    ),
}
"""Omissions of an output (Table 3)."""


def _alone(meaning: str) -> Metric:
    return Metric(pooled=False, ranged=False, meaning=meaning)


METRICS: Metrics = {
    **OMISSIONS,
    "omitted_in_part": Metric(
        OMITTED,
        {"part": 1.0},
        among=("whole", "part"),
        kind="pooled",
        meaning="share of omissions that leave out only a part of the fact",
    ),
    "differential_lost": _alone("share of the diagnoses suggested by the source that the output no longer suggests"),
    "differential_added": _alone("share of the diagnoses suggested by the output that the source does not suggest"),
    "differential_shifted": _alone("difference of the likelihood categories of shared diagnoses"),
}
# --8<-- [end:metrics]
"""Also partial omissions, which the paper counts in full (Section 3), and how differentials differ."""
SYSTEM = "compact notes"
"""The summaries of the generated notes."""
Texts = dict[str, dict[str, str]]
"""Summaries by system and document."""
Row = dict[str, Any]


async def judge(
    ask: Ask,
    documents: Sequence[Document],
    params: MedOmit,
    encode: Encode,
    *,
    scope: Literal["whole", "history"] = "whole",
    least_lines: int = 1,
    expected: Collection[str] = (),
    write: Ask | None = None,
) -> Tables:
    """Tables verdicts (VERDICTS, of outputs and of the source), unscored, and summaries (document, system, summary).

    ``encode`` embeds diagnoses, to recognise renamed ones. ``scope``: whole texts, or the history of dialogues (the
    paper's setting), of which those with fewer than ``least_lines`` lines up to its end are excluded (Section 4).
    ``expected``: systems of which every document should have an output; ``write``: the writer, who then summarises too.
    Outputs are judged as they are: citation marks have to be taken out before. One without a known fact or differential
    leaves a failed verdict.
    """
    sources, unscored = {one.id: one.text for one in documents}, list[dict[str, str | None]]()
    summaries = output_parts(documents, scope)
    due = {name: tuple(texts) for name, texts in summaries.items()} | dict.fromkeys(expected, tuple(sources))
    if scope == "history":
        sources, unscored = await truncate_dialogues(ask, sources, least_lines)
        summaries = {name: {key: texts[key] for key in sources if key in texts} for name, texts in summaries.items()}
    if write is not None:
        calls = {key: _written(key, "subjective", text, dialogue=text) for key, text in sources.items()}
        written, failed = await ask_texts(write, calls, "subjective", str.strip)
        summaries, unscored = {WRITER: written} | summaries, [*unscored, *failed]
        due = {WRITER: tuple(one.id for one in documents)} | due

    def naming(diagnoses: Iterable[str]) -> DiagnosisNames:
        return DiagnosisNames(tuple(diagnoses), encode, params.same_diagnosis)

    cases = await build_cases(ask, sources, naming, params.importance)
    rows = list[Row]()
    for case in cases:
        if case.failure is None and not case.facts:
            unscored.append(unscored_row(case.key, "facts", "no fact is listed"))
        unscored += [dict(row) for row in (*([case.failure] if case.failure else []), *case.lost_clusters)]
        rows += [{**row, "document": case.key, "system": SOURCE} for row in _source_rows(case, params.variant)]
    for system, keys in due.items():
        texts = summaries.get(system, {})
        judged = {case.key: case for case in cases if case.key in texts}
        found, failed = await find_omissions(ask, list(judged.values()), texts)
        known = {key: case for key, case in judged.items() if case.failure is None and params.compare_differentials}
        of_outputs = await add_differential(ask, [Case(key, texts[key]) for key in known], times=0)
        failed += [dict(one.failure) for one in of_outputs if one.failure is not None]
        unscored += [{**row, "step": f"{row['step']} of {system}"} for row in failed]
        compared = {one.key: one.differential for one in of_outputs if one.failure is None}
        for key in keys:
            own = [*_omitted_rows(judged[key], found.get(key, {}), params.variant)] if key in judged else []
            own = own or [_row(OMITTED, LOST, "", None)]
            if key in compared:
                source = judged[key].differential
                apart = differential_difference(source, renamed(compared[key], naming(source)))
                own += [_row(f"{DIAGNOSES}_{name}", DIAGNOSES, "", value) for name, value in apart.items()]
            elif params.compare_differentials:
                own += _LOST_DIFFERENCES
            rows += [{**row, "document": key, "system": system} for row in own]
    shown = [(key, system, text) for system, texts in summaries.items() for key, text in texts.items()]
    return {
        "verdicts": verdict_table([{**row, "condition": params.variant} for row in rows], judge=ask.label),
        "summaries": pd.DataFrame(shown, columns=["document", "system", "summary"], dtype="str"),
        "unscored": unscored_table(unscored),
    }


def _row(metric: str, unit: str, text: str, value: float | None, **said: Any) -> Row:
    return {"item": WHOLE, "metric": metric, "unit": unit, "text": text, "value": value, **said}


_LOST_DIFFERENCES = [_row(name, LOST, "", None) for name in METRICS if name.startswith(DIAGNOSES)]


def name_encoder(params: Embed) -> Encode:
    """Embeds names of diagnoses with the encoder of ``params``, which is loaded for the first one: few need any."""

    def encode(names: Sequence[str]) -> npt.NDArray[np.float32]:
        from tasks.encoder import unit_vectors  # imports torch, which takes seconds

        return unit_vectors(params.encoder, params.precision, params.device)(names)

    return encode


def output_parts(documents: Sequence[Document], scope: str) -> Texts:
    """What is judged of the outputs (`judged_part`) by system and document."""
    return {
        system: {one.id: judged_part(one.outputs[system], scope) for one in documents if system in one.outputs}
        for system in system_names(documents)
    }


def judged_part(text: str, scope: str) -> str:
    """The whole text, or its subjective section (history)."""
    return split_soap(text).get("subjective", "") if scope == "history" else text


class EndOfHistory(Reply):
    """The number of the last line on the patient's report."""

    lists: ClassVar[bool] = True
    last_line: int

    @classmethod
    def from_printed(cls, printed: Any, context: Mapping[str, Any]) -> dict[str, Any] | None:
        """Prompt 5: ``{line number: line}``."""
        is_printed = isinstance(printed, dict) and len(printed) == 1 and next(iter(printed)) != "last_line"
        return {"last_line": next(iter(printed))} if is_printed else None

    @field_validator("last_line")
    @classmethod
    def _is_in_the_dialogue(cls, given: int, info: ValidationInfo) -> int:
        lines = (info.context or {}).get("lines")
        if lines is not None and not 0 <= given < lines:
            raise ValueError(f"line {given} is not in the dialogue, whose lines are 0 to {lines - 1}")
        return given


async def truncate_dialogues(ask: Ask, dialogues: Mapping[str, str], least: int) -> tuple[dict[str, str], Unscored]:
    """Cut each dialogue after the history, as the judge has it (Appendix A); those of too few lines are unscored."""
    lines = {key: [line for line in dialogue.split("\n") if line.strip()] for key, dialogue in dialogues.items()}
    calls = {}
    for key, listed in lines.items():
        messages = render(__package__, "truncate", lines=listed)
        call = Call(f"{key}/truncate", messages, EndOfHistory, context={"lines": len(listed)})
        calls[key] = in_users_form(call, __package__, "truncate")
    found, unscored = await ask_all(ask, calls, EndOfHistory, "truncate")
    kept = {}
    for key, value in found.items():
        cut = lines[key][: value.last_line + 1]
        if len(cut) >= least:
            kept[key] = "\n".join(cut)
        else:
            reason = f"fewer lines up to the end of the history than med_omit.least_lines, {least}"
            unscored.append(unscored_row(key, "truncate", f"{len(cut)}: {reason}"))
    return kept, unscored


def _written(key: str, prompt: str, source: str, **fields: Any) -> Call:
    """A request for a text that is no longer than its source."""
    messages = render(__package__, prompt, **fields)
    return Call(f"{key}/{prompt}", messages, least_tokens=tokens_needed(source, times=1))


def _source_rows(case: Case, variant: Variant) -> Iterator[Row]:
    """Rows of a source: its facts with their grades, where all steps of grading succeeded with weights, and diagnoses.

    The reason of a grade is JSON of the diagnoses that the fact supports and refutes.
    """
    for fact, (kind, text) in case.facts.items():
        unique, category = uniqueness(fact, case.clusters, variant=variant), case.categories.get(fact)
        evidence = {
            stance: sorted({one.diagnosis for one in case.clusters if one.stance == stance and fact in one.facts})
            for stance in ("supports", "refutes")
        }
        said = {"kind": kind, "verdict": category, "weight": _weight(case, fact, variant)}
        grade = None if category is None else IMPORTANCE[category]
        yield _row(GRADED, fact, text, grade, reason=json.dumps(evidence), **said)
        if unique:
            yield _row(UNIQUE, fact, text, max(unique), kind=kind)
    for rank, (diagnosis, likelihood) in enumerate(case.ranked if case.failure is None else ()):
        share = LIKELIHOODS.index(likelihood) / (len(LIKELIHOODS) - 1)
        yield _row(DIAGNOSES, str(rank), diagnosis, share, verdict=likelihood)


def _weight(case: Case, fact: str, variant: Variant) -> float | None:
    category = case.categories.get(fact)
    if category is None or case.failure is not None:
        return None
    return fact_score(category, uniqueness(fact, case.clusters, variant=variant))


def _omitted_rows(case: Case, found: Extents, variant: Variant) -> Iterator[Row]:
    """Rows of one output: each fact of its source with what is omitted of it, without a value where no verdict is."""
    for fact, (kind, text) in case.facts.items():
        extent, weight = found.get(fact), _weight(case, fact, variant)
        value = float(extent is not None) if fact in found else None
        yield _row(OMITTED, fact, text, value, verdict=extent, kind=kind, weight=weight)


REMOVAL_STREAM = 97
REMOVED: Metrics = {
    "removed_found": _alone("share of the facts removed from a summary that the judge then finds omitted"),
    "kept_not_found": _alone("share of the facts kept in it that the judge still finds stated"),
}


async def corrupt_summaries(
    writer: Ask, judge: Ask, verdicts: pd.DataFrame, summaries: Mapping[str, str], *, remove: int, seed: int
) -> tuple[pd.DataFrame, Unscored]:
    """VERDICTS of the facts that each summary states: those removed (`REMOVED`) should be found omitted, others not.

    Up to ``remove`` of the stated facts of a document are removed, a seeded draw that leaves at least one.
    ``verdicts`` are those of `judge` on the ``summaries`` as they were, and on their sources.
    """
    kept = verdicts[(verdicts["metric"] == OMITTED) & verdicts["value"].eq(0)]
    stated = {str(key): group.tolist() for key, group in kept.groupby("document")["unit"]}
    cases = [case for case in cases_of(verdicts) if len(stated.get(case.key, [])) > 1 and case.key in summaries]
    removed, calls = dict[str, set[str]](), {}
    for case in cases:
        own, random = stated[case.key], np.random.default_rng([seed, REMOVAL_STREAM, crc32(case.key.encode())])
        removed[case.key] = set(random.choice(own, size=min(remove, len(own) - 1), replace=False).tolist())
        facts = fact_lines({fact: text for fact, text in case.texts.items() if fact in removed[case.key]})
        summary = summaries[case.key]
        calls[case.key] = _written(case.key, "without_facts", summary, facts=facts, summary=summary)
    rewritten: dict[str, str]
    rewritten, unscored = await ask_texts(writer, calls, "without_facts")
    found, failures = await find_omissions(judge, [case for case in cases if case.key in rewritten], rewritten)
    texts, rows = {case.key: case.texts for case in cases}, []
    about = {"system": "rewritten summaries", "condition": ", ".join(verdicts["condition"].unique())}
    for key, now in sorted(found.items()):
        for fact in (one for one in stated[key] if one in now):
            gone, (removed_found, kept_not_found) = fact in removed[key], REMOVED
            said = float((now[fact] is not None) == gone)
            row = _row(removed_found if gone else kept_not_found, fact, texts[key][fact], said)
            rows.append({"document": key, **about, **row})
    failed = [{**row, "step": f"{row['step']} of the rewritten summary"} for row in failures]
    return verdict_table(rows, judge=judge.label), [*unscored, *failed]
