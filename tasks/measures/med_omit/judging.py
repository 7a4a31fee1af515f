"""Judges which facts of each source its summaries omit: MED-OMIT on any documents.

Whole outputs are judged against whole sources; or, as in the paper (Table 3), the subjective sections of outputs
against dialogues truncated to the history.

Its detection of omissions is measured on summaries rewritten without chosen facts, as in MED-OMIT's released templates;
the paper does not report this test. It needs a writer that follows instructions: the simulator's does not rewrite.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import ValidationInfo, field_validator

from schemas.params.learning import Embed
from schemas.params.measures import MedOmit
from schemas.tables.columns import typed
from schemas.tables.evaluate import DIFFERENTIALS
from schemas.tables.evaluation import FACTS, OMITTED
from tasks.llm.ask_all import Unscored, ask_all, ask_texts
from tasks.llm.calls import Ask, Call, unscored_row, unscored_table
from tasks.llm.printed import PrintedReply, in_printed_form
from tasks.llm.prompts import render
from tasks.llm.requests import tokens_needed
from tasks.measures.med_omit.cases import Case, Verdicts, add_differential, build_cases, cases_of, find_omissions
from tasks.measures.med_omit.fact_score import (
    DiagnosisNames,
    Encode,
    Variant,
    differential_difference,
    fact_score,
    renamed,
    uniqueness,
)
from tasks.measures.med_omit.metrics import STAGE
from tasks.measures.med_omit.replies import fact_lines
from tasks.statistics.metric_rows import mean_row, metric_table
from tasks.text.soap import split_soap
from tasks.texts.document import Document, Tables

WRITER = "writer"
"""The writer's own subjective summaries as a system."""
DIFFERENCES = ["document", "system", "lost", "added", "shifted"]
Texts = dict[str, dict[str, str]]
"""Summaries by system and document."""


@dataclass(frozen=True)
class Plan:
    """What is judged.

    ``scope``: whole texts, or the history of dialogues (the paper's setting). Dialogues with fewer than ``least_lines``
    lines up to the end of the history are excluded (Section 4). ``summarised``: the writer summarises the history too,
    as one more system.
    """

    scope: Literal["whole", "history"] = "whole"
    least_lines: int = 1
    summarised: bool = False


async def judge(
    ask: Ask, documents: Sequence[Document], plan: Plan, params: MedOmit, encode: Encode, write: Ask | None = None
) -> Tables:
    """Tables facts (FACTS), omitted (OMITTED), differences, differentials (DIFFERENTIALS), summaries and unscored.

    ``encode`` embeds diagnoses, to recognise renamed ones; ``write`` is the writer of a plan that has it summarise.
    Outputs are judged as they are: citation marks have to be taken out before. Differentials are those of the sources,
    the most likely diagnosis first.
    """
    sources, unscored = {one.id: one.text for one in documents}, list[dict[str, str | None]]()
    summaries = output_parts(documents, plan.scope)
    if plan.scope == "history":
        sources, unscored = await truncate_dialogues(ask, sources, plan.least_lines)
        summaries = {name: {key: texts[key] for key in sources if key in texts} for name, texts in summaries.items()}
    if plan.summarised and write is not None:
        written, failed = await _summarise(write, sources)
        summaries, unscored = {WRITER: written} | summaries, [*unscored, *failed]

    def naming(diagnoses: Iterable[str]) -> DiagnosisNames:
        return DiagnosisNames(tuple(diagnoses), encode, params.same_diagnosis)

    cases = await build_cases(ask, sources, naming)
    for case in cases:
        if case.failure is None and not case.facts:
            unscored.append(unscored_row(case.key, "facts", "no fact is listed"))
        unscored += [dict(row) for row in (*([case.failure] if case.failure else []), *case.lost_clusters)]
    facts = fact_table(cases, variant=params.variant)
    omitted, differences = list[dict[str, object]](), list[tuple[object, ...]]()
    for system, texts in summaries.items():
        judged = [case for case in cases if case.key in texts]
        found, failed = await find_omissions(ask, judged, texts)
        omitted += omitted_rows(judged, found, system)
        compared = [case for case in judged if case.failure is None and params.compare_differentials]
        known = {case.key: case for case in compared}
        for one in await add_differential(ask, [Case(key, texts[key]) for key in known], times=0):
            if one.failure is not None:
                failed.append(dict(one.failure))
                continue
            own = known[one.key].differential
            difference = differential_difference(own, renamed(one.differential, naming(own)))
            differences.append((one.key, system, *difference.values()))
        unscored += [{**row, "step": f"{row['step']} of {system}"} for row in failed]
    kinds = {"document": "str", "system": "str"} | dict.fromkeys(DIFFERENCES[2:], float)
    diagnoses = [(case.key, *one) for case in cases if case.failure is None for one in case.ranked]
    shown = [(key, system, text) for system, texts in summaries.items() for key, text in texts.items()]
    return {
        "facts": facts,
        "omitted": typed(omitted, OMITTED),
        "differences": pd.DataFrame(differences, columns=DIFFERENCES).astype(kinds),
        "differentials": pd.DataFrame(diagnoses, columns=list(DIFFERENTIALS.columns), dtype="str"),
        "summaries": pd.DataFrame(shown, columns=["document", "system", "summary"], dtype="str"),
        "unscored": unscored_table(unscored),
    }


def name_encoder(params: Embed) -> Encode:
    """Embeds names of diagnoses with the encoder of ``params``, which is loaded for the first one: few need any."""

    def encode(names: Sequence[str]) -> npt.NDArray[np.float32]:
        from tasks.encoder import unit_vectors  # imports torch, which takes seconds

        return unit_vectors(params.encoder, params.precision, params.device)(names)

    return encode


def output_parts(documents: Iterable[Document], scope: str) -> Texts:
    """What is judged of the outputs by system and document: whole texts, or the subjective section (history)."""
    found: Texts = {}
    for document in documents:
        for system, text in document.outputs.items():
            part = split_soap(text).get("subjective", "") if scope == "history" else text
            found.setdefault(system, {})[document.id] = part
    return found


class EndOfHistory(PrintedReply):
    """The number of the last line on the patient's report."""

    last_line: int

    @classmethod
    def from_printed(cls, printed: Any, context: Mapping[str, Any]) -> Any:
        """Prompt 5: ``{line number: line}``."""
        is_printed = isinstance(printed, dict) and len(printed) == 1 and next(iter(printed)) != "last_line"
        return {"last_line": next(iter(printed))} if is_printed else printed

    @field_validator("last_line")
    @classmethod
    def _is_in_the_dialogue(cls, given: int, info: ValidationInfo) -> int:
        lines = (info.context or {}).get("lines")
        if lines is not None and not 0 <= given < lines:
            raise ValueError(f"line {given} is not in the dialogue, whose lines are 0 to {lines - 1}")
        return given


async def truncate_dialogues(ask: Ask, dialogues: Mapping[str, str], least: int) -> tuple[dict[str, str], Unscored]:
    """Cut each dialogue after the last line of the history, which the judge names (Appendix A).

    A dialogue with fewer than ``least`` lines left is unscored.
    """
    lines = {key: [line for line in dialogue.split("\n") if line.strip()] for key, dialogue in dialogues.items()}
    calls = {
        key: Call(
            f"{key}/truncate",
            render(__package__, "truncate", lines=listed),
            EndOfHistory,
            context={"lines": len(listed)},
        )
        for key, listed in lines.items()
    }
    found, unscored = await ask_all(in_printed_form(ask, __package__, "truncate"), calls, EndOfHistory, "truncate")
    cut = {key: lines[key][: value.last_line + 1] for key, value in found.items()}
    reason = f"fewer lines up to the end of the history than med_omit.least_lines, {least}"
    unscored += [
        unscored_row(key, "truncate", f"{len(kept)}: {reason}") for key, kept in cut.items() if len(kept) < least
    ]
    return {key: "\n".join(kept) for key, kept in cut.items() if len(kept) >= least}, unscored


async def _summarise(write: Ask, dialogues: Mapping[str, str]) -> tuple[dict[str, str], Unscored]:
    """Ask the writer for a subjective summary of each truncated dialogue."""
    calls = {
        key: Call(
            f"{key}/subjective",
            render(__package__, "subjective", dialogue=dialogue),
            least_tokens=tokens_needed(dialogue, times=1),
        )
        for key, dialogue in dialogues.items()
    }
    return await ask_texts(write, calls, "subjective", str.strip)


def fact_table(cases: Sequence[Case], *, variant: Variant) -> pd.DataFrame:
    """FACTS of all cases whose facts are known. A fact has no score where a step of its case's grading failed."""
    return typed([_fact_row(case, fact, variant) for case in cases for fact in case.facts], FACTS)


def _fact_row(case: Case, fact: str, variant: Variant) -> dict[str, object]:
    kind, text = case.facts[fact]
    scores, category = uniqueness(fact, case.clusters, variant=variant), case.categories.get(fact)
    held = {
        stance: json.dumps(sorted({c.diagnosis for c in case.clusters if c.stance == stance and fact in c.facts}))
        for stance in ("supports", "refutes")
    }
    return {
        **{"document": case.key, "fact": fact, "kind": kind, "text": text, "category": category, **held},
        "uniqueness": max(scores) if scores else np.nan,
        "score": fact_score(category, scores) if category and case.failure is None else np.nan,
        "posterior_shift": np.nan,
    }


def omitted_rows(cases: Collection[Case], verdicts: Mapping[str, Verdicts], system: str) -> list[dict[str, object]]:
    """OMITTED rows of one system's summaries; null for a fact without a verdict. ``verdicts`` are by document."""
    rows: list[dict[str, object]] = []
    for case in cases:
        found = verdicts.get(case.key, {})
        for fact in case.facts:
            extent = found.get(fact)
            omitted = extent is not None if fact in found else None
            rows.append({"document": case.key, "system": system, "fact": fact, "omitted": omitted, "extent": extent})
    return rows


COLUMNS = ["document", "fact", "removed", "omitted"]
REMOVAL_STREAM = 97


async def corrupt_summaries(
    writer: Ask,
    judge: Ask,
    facts: pd.DataFrame,
    omitted: pd.DataFrame,
    summaries: Mapping[str, str],
    *,
    remove: int,
    seed: int,
) -> tuple[pd.DataFrame, Unscored]:
    """The facts that each summary states: whether they were removed, and whether the judge then finds them omitted.

    Up to ``remove`` of the stated facts of a document are removed, a seeded draw that leaves at least one. ``facts`` is
    FACTS, ``omitted`` OMITTED of the summaries as they were.
    """
    kept = omitted[omitted["omitted"].eq(False).fillna(False)]
    stated = {str(key): group.tolist() for key, group in kept.groupby("document")["fact"]}
    cases = [case for case in cases_of(facts) if len(stated.get(case.key, [])) > 1 and case.key in summaries]
    removed = {case.key: _draw(stated[case.key], remove, seed, case.key) for case in cases}
    calls = {case.key: _call(case, removed[case.key], summaries[case.key]) for case in cases}
    rewritten: dict[str, str]
    rewritten, unscored = await ask_texts(writer, calls, "without_facts")
    found, failures = await find_omissions(judge, [case for case in cases if case.key in rewritten], rewritten)
    rows = [
        (key, fact, fact in removed[key], now[fact] is not None)
        for key, now in sorted(found.items())
        for fact in stated[key]
        if fact in now
    ]
    table = pd.DataFrame(rows, columns=COLUMNS).astype({"document": "str", "fact": "str"})
    failed = [{**row, "step": f"{row['step']} of the rewritten summary"} for row in failures]
    return table, [*unscored, *failed]


def _draw(stated: Sequence[str], remove: int, seed: int, document: str) -> set[str]:
    random = np.random.default_rng([seed, REMOVAL_STREAM, crc32(document.encode())])
    return set(random.choice(stated, size=min(remove, len(stated) - 1), replace=False).tolist())


def _call(case: Case, removed: set[str], summary: str) -> Call:
    facts = fact_lines({fact: text for fact, text in case.texts.items() if fact in removed})
    messages = render(__package__, "without_facts", facts=facts, summary=summary)
    return Call(f"{case.key}/without_facts", messages, least_tokens=tokens_needed(summary, times=1))


def corruption_rows(table: pd.DataFrame, **about: Any) -> pd.DataFrame:
    """Share of the removed facts found omitted, and of the kept facts not found omitted, over documents."""
    rows = []
    for metric, removed in (("removed_found", True), ("kept_not_found", False)):
        chosen = table[table["removed"] == removed]
        shares = (chosen["omitted"] == removed).groupby(chosen["document"]).mean()
        rows.append(mean_row(metric, shares.to_numpy(dtype=float), system="rewritten summaries"))
    return metric_table(rows, stage=STAGE, item="all", **about)
