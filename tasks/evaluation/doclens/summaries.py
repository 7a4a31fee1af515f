"""DocLens on short summaries: questions of MeQSum, impressions of radiology reports (Section 4.1).

The input's sentences are numbered and cited. Outside outputs and the writer's are judged; the writer counts as one
system per number of in-context examples. Citations are judged only for systems that cite.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from schemas.errors import MissingSourceError
from schemas.params.doclens import DocLens
from schemas.params.summaries import Summaries
from tasks.evaluation.doclens.citations import read_statements, without_citations
from tasks.evaluation.doclens.cited_outputs import write_cited
from tasks.evaluation.doclens.judging import (
    CitedText,
    Judged,
    Pair,
    Unscored,
    judge_cited_texts,
    judge_claims,
    judged_table,
)
from tasks.evaluation.doclens.outside import read_meqsum, read_radiology, read_texts
from tasks.evaluation.doclens.setup import citation_condition, condition, make_evaluator, writer_examples
from tasks.llm.calls import Ask

PROMPTS = {"questions": "cited_question", "impressions": "cited_impression"}
"""The writer's prompt of each task."""
DOCUMENT_STREAM = 89
COLUMNS = ["document", "task", "sentences", "reference", "outputs", "citing"]
TEXTS = ["document", "task", "system", "text"]


def read_documents(folder: Path | None, params: Summaries, *, seed: int) -> pd.DataFrame:
    """Documents of both tasks, one per row so that the work can be chunked; no rows for a task whose file is missing.

    Columns: ``document`` (task and id), ``task``, ``sentences`` and ``outputs`` (JSON: by system), ``reference``,
    ``citing`` (JSON: the outside systems with a citation in any document).
    """
    if folder is None:
        return pd.DataFrame(columns=COLUMNS, dtype="str")
    readers = {
        "questions": (lambda: read_meqsum(folder), params.questions, params.question_outputs),
        "impressions": (lambda: read_radiology(folder / params.radiology), params.reports, params.impression_outputs),
    }
    parts = []
    for at, (task, (read, limit, systems)) in enumerate(readers.items()):
        try:
            found = read()
        except MissingSourceError:
            continue
        outputs = {system: read_texts(folder / file) for system, file in systems.items()}
        random = np.random.default_rng([seed, DOCUMENT_STREAM, at])
        chosen = np.sort(random.choice(len(found), size=min(limit, len(found)), replace=False))
        parts.append(_task_rows(task, found.iloc[chosen], outputs))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS, dtype="str")


def _task_rows(task: str, documents: pd.DataFrame, outputs: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    citing = [name for name, texts in sorted(outputs.items()) if any(_cites(text) for text in texts.values())]
    rows = [
        (
            f"{task}-{row.document}",
            task,
            json.dumps(row.sentences),
            row.reference,
            json.dumps({system: texts[row.document] for system, texts in outputs.items() if row.document in texts}),
            json.dumps(citing),
        )
        for row in documents.itertuples()
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype("str")


def _cites(text: str) -> bool:
    return any(statement.citations for statement in read_statements(text))


async def judge_summaries(
    writer: Ask, judge: Ask, documents: pd.DataFrame, params: DocLens, examples: Sequence[int]
) -> tuple[pd.DataFrame, pd.DataFrame, Unscored]:
    """Judge every system's summaries: (JUDGED with the task as item, texts without citations, unscored rows)."""
    evaluator = make_evaluator(params, judge)
    done: list[Judged] = []
    unscored: Unscored = []
    shown: list[tuple[str, str, str, str]] = []
    for task, table in documents.groupby("task", sort=True):
        sources = {row.document: tuple(json.loads(row.sentences)) for row in table.itertuples()}
        references = dict(zip(table["document"], table["reference"], strict=True))
        systems, citing = _outside(table), set(json.loads(table["citing"].iloc[0]))
        for count in examples:
            prompt = PROMPTS[str(task)]
            written, failed = await write_cited(writer, prompt, sources, examples=writer_examples(prompt, count))
            name = f"writer, {count} example{'' if count == 1 else 's'}"
            systems[name] = written
            citing.add(name)
            unscored += failed
        for system, texts in systems.items():
            plain = {document: without_citations(text) for document, text in texts.items()}
            shown += [(document, str(task), system, text) for document, text in plain.items()]
            pairs = [Pair(document, system, references[document], text, str(task)) for document, text in plain.items()]
            done.append(await judge_claims(judge, evaluator, pairs, condition=condition(params)))
            if system in citing:
                done.append(await _judge_citations(judge, pairs, texts, sources, params))
    judged = pd.concat([one.table for one in done], ignore_index=True) if done else judged_table([])
    unscored += [row for one in done for row in one.unscored]
    return judged, pd.DataFrame(shown, columns=TEXTS, dtype="str"), unscored


def _outside(table: pd.DataFrame) -> dict[str, dict[str, str]]:
    systems: dict[str, dict[str, str]] = {}
    for document, text in zip(table["document"], table["outputs"], strict=True):
        for system, output in json.loads(text).items():
            systems.setdefault(system, {})[document] = output
    return systems


async def _judge_citations(
    judge: Ask,
    pairs: Sequence[Pair],
    texts: Mapping[str, str],
    sources: Mapping[str, tuple[str, ...]],
    params: DocLens,
) -> Judged:
    cited = [
        CitedText(p.document, p.system, tuple(read_statements(texts[p.document])), sources[p.document], p.item)
        for p in pairs
    ]
    evaluator, how = make_evaluator(params, judge), citation_condition(params)
    return await judge_cited_texts(judge, evaluator, cited, condition=how, one_call=params.citations == "one_call")
