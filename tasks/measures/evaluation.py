"""Every method on a user's documents: what is planned, written and judged, and the tables that come of it.

Each method is one function on documents; this module chooses them and puts their tables together: metrics by system
and section, scores of single documents, claims and facts, failures. The number of documents that a system's metric is
computed on, and those that it lacks, are the same in all of them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.params import Params
from schemas.params.measures import Evaluate
from schemas.tables.columns import typed
from schemas.tables.evaluate import DOCUMENT_SCORES, EVALUATED, NO_OUTPUT, UNSCORED_OUTPUTS
from schemas.tables.verdicts import VERDICTS
from schemas.tables.verdicts import in_order as verdicts_in_order
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Asks, unscored_row, unscored_table
from tasks.measures.declared import Declared, Plan
from tasks.measures.described import OF_OUTPUTS, chosen
from tasks.measures.doclens.judging import citing_systems, plain_documents
from tasks.measures.doclens.writing import write_outputs, writer
from tasks.measures.measure import Metrics, figures
from tasks.measures.measure import scores as scores_of
from tasks.statistics.metric_rows import metric_table
from tasks.texts.document import SOURCE, Document, Tables, documents_of, documents_table, system_names
from tasks.texts.reading import DataSet

WRITING = "writing"
"""Method of unscored rows of outputs that are missing or could not be written."""


def plan_of(evaluation: Evaluate, data: DataSet) -> Plan:
    """The plan of an evaluation of ``data``, without measures that no document allows."""
    prompt = writer_prompt(data)
    writers = tuple(
        writer(prompt if by == "whole" else "cited_note", count, by_section=by == "section")
        for by in evaluation.write_by
        for count in evaluation.write
    )
    written = [one.name for one in writers]
    systems = tuple(dict.fromkeys([*system_names(data.documents), *written]))
    citing = tuple(sorted({*citing_systems(data.documents), *written}))
    sections = data.sectioning if evaluation.sections == "auto" else evaluation.sections
    impossible = impossible_measures(evaluation, data.documents)
    names = tuple(one.choice for one in chosen(evaluation.metrics) if one not in impossible)
    return Plan(names, systems, citing, writers, sections, data.layout)


def impossible_measures(evaluation: Evaluate, documents: Sequence[Document]) -> list[Declared]:
    """The chosen measures that no document allows: of references that there are not, unless citations do."""
    if any(document.reference for document in documents):
        return []
    cited = bool(evaluation.write) or bool(citing_systems(documents))
    return [one for one in chosen(evaluation.metrics) if one.referenced and not (cited and one.or_cited)]


def writer_prompt(data: DataSet) -> str:
    """The writer's prompt file for a layout: a question, an impression, a dialogue's note or a summary."""
    known = {"meqsum": "cited_question", "radiology": "cited_impression"}
    dialogues = sum(document.is_dialogue for document in data.documents)
    return known.get(data.layout) or ("cited_note" if dialogues > len(data.documents) / 2 else "cited_compact")


async def evaluate_chunk(plan: Plan, frames: Tables, ask: Asks, params: Params) -> Tables:
    """Outputs written and judged: documents, unscored (UNSCORED_OUTPUTS), and the tables of each chosen method."""
    documents = documents_of(frames["documents"])
    unwritten: Unscored = []
    if plan.writers:
        documents, unwritten = await write_outputs(ask("writer"), documents, plan.writers)
    given = set(plan.systems) - {system.name for system in plan.writers}
    missing = [
        unscored_row(one.id, f"output of {system}", NO_OUTPUT)
        for one in documents
        for system in plan.systems
        if system in given and system not in one.outputs
    ]
    unscored = {WRITING: unscored_table([*unwritten, *missing])}
    made: Tables = {}
    plain = plain_documents(documents, plan.citing)
    for one in chosen(plan.metrics):
        if one.judge is not None:
            found = dict(await one.judge(plan, params, ask, documents if one.marked else plain))
            made[one.name], unscored[one.name] = found.pop("verdicts"), found.pop("unscored")
            made |= found
    failed = [unscored_outputs(rows, method, plan.systems) for method, rows in unscored.items()]
    return {**made, "documents": documents_table(documents), "unscored": pd.concat(failed, ignore_index=True)}


def unscored_outputs(rows: pd.DataFrame, method: str, systems: Sequence[str]) -> pd.DataFrame:
    """UNSCORED rows of a method as UNSCORED_OUTPUTS: a step ``... of SYSTEM`` concerns that system, others all."""
    ends = {f" of {system}": system for system in systems}
    found = [max((end for end in ends if step.endswith(end)), key=len, default="") for step in rows["step"]]
    steps = [step.removesuffix(end) for step, end in zip(rows["step"], found, strict=True)]
    named = rows.rename(columns={"record": "document"}).assign(
        method=method, step=steps, system=[*map(ends.get, found)]
    )
    return typed(named, UNSCORED_OUTPUTS)


SORTED: Mapping[str, Sequence[str]] = {"questions": ["question"], "unscored": ["document", "system", "method", "step"]}
"""Order of tables before scores are computed: sums of floats depend on it."""


def in_order(made: Mapping[str, Any]) -> Tables:
    """The tables of all chunks in an order that does not depend on the chunks."""
    found = dict(made)
    for name, table in made.items():
        if name in SORTED:
            found[name] = table.sort_values(SORTED[name], ignore_index=True, kind="stable")
        elif _is_verdicts(table):
            found[name] = verdicts_in_order(table)
    return found


def failed_share(made: Tables, failed: pd.DataFrame) -> tuple[float, int]:
    """Share of the scores of texts that failed, and number of scores.

    A score of which some units have no verdict counts by the share of these.

    ``failed``: the rows of the table ``unscored`` that are failures, and none that the data lacks; one whose text has
    no row in the tables counts as a score.
    """
    systems = failed["system"].where(failed["system"].notna(), "")  # of all systems
    causes, found, shares = {*zip(failed["method"], failed["document"], systems, strict=True)}, set(), list[float]()
    for name, table in ((name, table) for name, table in made.items() if _is_verdicts(table) and name not in COMPUTING):
        known = list[bool]()
        for document, system, value in zip(table["document"], table["system"], table["value"], strict=True):
            # What was not written has no verdict of any measure.
            of = {(method, document, one) for method in (name, WRITING) for one in (system, "")} & causes
            found |= of if value != value else set()
            known.append(value == value or bool(of))
        judged = table[known]
        shares += judged["value"].isna().groupby([judged[key] for key in ("document", *KEY[1:])]).mean().tolist()
    shares += [1.0] * len(causes - found)
    return (float(np.mean(shares)) if shares else 0.0), len(shares)


COMPUTING = frozenset(one.name for one in OF_OUTPUTS if not one.judged)
"""Names of the measures that ask no judge."""


def _is_verdicts(table: pd.DataFrame) -> bool:
    return list(table) == list(VERDICTS.columns)


RECORD_DIGITS = 15  # hexadecimal digits of a record number, which fits 63 bits
KEY = ["stage", "system", "condition", "item", "metric"]


def evaluation_tables(
    documents: Sequence[Document], plan: Plan, made: Tables, params: Params, *, provenance: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """METRICS of all chosen methods, which count documents without a score as unscored, and DOCUMENT_SCORES."""
    shared: dict[str, Any] = {"seed": params.seed, "provenance": provenance}
    metrics, scores = [metric_table([])], [typed([], DOCUMENT_SCORES)]
    for one in chosen(plan.metrics):
        if len(verdicts := made.get(one.name, pd.DataFrame())):
            own = one.metrics if one.metrics_by is None else one.metrics_by(params)
            if one.figures is None:
                metrics.append(figures(verdicts, own, stage=one.name, **shared))
            else:
                others = pd.concat(scores, ignore_index=True)
                metrics.append(one.figures(plan, params, documents, made, others, shared))
            scores.append(document_scores(verdicts, own, one.name))
    table = pd.concat(metrics, ignore_index=True).sort_values(KEY, ignore_index=True)
    joined = pd.concat(scores, ignore_index=True)
    return table, joined.sort_values(list(DOCUMENT_SCORES.unique or []), ignore_index=True)


def document_scores(verdicts: pd.DataFrame, metrics: Metrics, stage: str) -> pd.DataFrame:
    """DOCUMENT_SCORES of the systems by a measure."""
    found = scores_of(verdicts, metrics)
    found = found[found["system"] != SOURCE]
    numbers = [record_number(name) for name in found["document"]]
    return typed(found.assign(stage=stage, record=numbers), DOCUMENT_SCORES)


def record_number(document: str) -> int:
    """A number that identifies a document in every evaluation that has it."""
    return int(hashlib.sha256(document.encode()).hexdigest()[:RECORD_DIGITS], 16)


def evaluated(documents: Sequence[Document]) -> pd.DataFrame:
    """EVALUATED: a hash of the source and the reference of each document."""
    rows = []
    for one in documents:
        content = hashlib.sha256(json.dumps([one.source, one.reference]).encode()).hexdigest()
        rows.append({"record": record_number(one.id), "document": one.id, "content": content})
    return typed(rows, EVALUATED)


def failed_documents(unscored: pd.DataFrame, systems: Sequence[str]) -> dict[str, npt.NDArray[np.int64]]:
    """Numbers of the documents with an unscored row by system; a row that names no system concerns all of them."""
    found = {}
    for system in systems:
        own = unscored[unscored["system"].eq(system) | unscored["system"].isna()]
        found[system] = np.array(sorted({record_number(name) for name in own["document"]}), dtype=np.int64)
    return found
