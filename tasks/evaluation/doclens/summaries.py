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
from schemas.tables.documents import DOCUMENTS
from tasks.evaluation.doclens.citations import number_sentences
from tasks.evaluation.doclens.judging import Unscored, judged_table
from tasks.evaluation.doclens.outputs_work import cites, judge_outputs, write_outputs
from tasks.evaluation.doclens.outside import read_meqsum, read_radiology, read_texts
from tasks.evaluation.documents.model import Document, documents_of, documents_table
from tasks.llm.calls import Ask

PROMPTS = {"questions": "cited_question", "impressions": "cited_impression"}
"""The writer's prompt of each task."""
DOCUMENT_STREAM = 89
COLUMNS = [*DOCUMENTS.columns, "task", "citing"]


def read_documents(folder: Path | None, params: Summaries, *, seed: int) -> pd.DataFrame:
    """Documents of both tasks, one per row so that the work can be chunked; no rows for a task whose file is missing.

    Columns of DOCUMENTS (the document is task and id, its source has numbered sentences), ``task``, and ``citing``
    (JSON: the outside systems with a citation in any document).
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
    found = [
        Document(
            f"{task}-{row.document}",
            (number_sentences(row.sentences),),
            row.reference,
            outputs={system: texts[row.document] for system, texts in outputs.items() if row.document in texts},
        )
        for row in documents.itertuples()
    ]
    citing = [name for name, texts in sorted(outputs.items()) if any(cites(text) for text in texts.values())]
    return documents_table(found).assign(task=task, citing=json.dumps(citing))


async def judge_summaries(
    writer: Ask, judge: Ask, documents: pd.DataFrame, params: DocLens, examples: Sequence[int]
) -> tuple[pd.DataFrame, pd.DataFrame, Unscored]:
    """Judge every system's summaries: (JUDGED with the task as item, texts without citations, unscored rows)."""
    judged, shown, unscored = [], [], list[dict[str, str | None]]()
    for task, table in documents.groupby("task", sort=True):
        outside = documents_of(table)
        complete, writers, failed = await write_outputs(writer, outside, PROMPTS[str(task)], examples)
        citing = [*json.loads(table["citing"].iloc[0]), *writers]
        found, texts = await judge_outputs(judge, complete, params, how="whole", citing=citing, written=writers)
        judged.append(found.table.assign(item=str(task)))
        shown.append(texts.assign(task=str(task)))
        unscored += [*failed, *found.unscored]
    if not judged:
        return judged_table([]), pd.DataFrame(columns=["document", "system", "text", "task"], dtype="str"), unscored
    return pd.concat(judged, ignore_index=True), pd.concat(shown, ignore_index=True), unscored
