"""DocLens on short summaries: questions of MeQSum, impressions of radiology reports (Section 4.1).

The input's sentences are numbered and cited. Outside outputs and the writer's are judged; the writer counts as one
system per number of in-context examples. Citations are judged only for systems that cite.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from schemas.errors import MissingSourceError
from schemas.params.doclens import DocLens
from schemas.params.summaries import Summaries
from schemas.tables.documents import DOCUMENTS
from tasks.evaluation.doclens.citations import number_sentences
from tasks.evaluation.doclens.cited_outputs import Example
from tasks.evaluation.doclens.judging import Unscored, judged_table
from tasks.evaluation.doclens.outputs_work import cites, judge_outputs, write_systems
from tasks.evaluation.doclens.outside import read_meqsum, read_radiology, read_texts
from tasks.evaluation.doclens.summary_examples import CITED, Pool, read_pool, writer_systems
from tasks.evaluation.documents.model import Document, documents_of, documents_table
from tasks.llm.calls import Ask

DOCUMENT_STREAM = 89
COLUMNS = [*DOCUMENTS.columns, "task", "citing", "examples"]


def read_documents(folder: Path | None, params: Summaries, *, seed: int) -> pd.DataFrame:
    """Documents of both tasks, one per row so that the work can be chunked; no rows for a task whose file is missing.

    Columns of DOCUMENTS (the document is task and id, its source has numbered sentences), ``task``, ``citing`` (JSON:
    the outside systems with a citation in any document) and ``examples`` (JSON: the user's in-context examples).
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
        chosen = sample(found.get("category", pd.Series("", index=found.index)), limit, random)
        pool = read_pool(folder / params.radiology_examples) if task == "impressions" else {}
        parts.append(_task_rows(task, found.iloc[chosen], outputs).assign(examples=_pool_json(pool)))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS, dtype="str")


def sample(categories: pd.Series, size: int, random: np.random.Generator) -> np.ndarray:
    """Positions of ``size`` rows, in order: as many of each category as its share (Table 28), by largest remainders."""
    size = min(size, len(categories))
    if categories.nunique() == 1:
        return np.sort(random.choice(len(categories), size=size, replace=False))
    shares = categories.value_counts().sort_index() * size / len(categories)
    counts = shares.astype(int)
    largest = (counts - shares).sort_values(kind="stable").index[: size - counts.sum()]
    counts[largest] += 1
    codes = categories.to_numpy()
    parts = [random.choice(np.flatnonzero(codes == name), size=n, replace=False) for name, n in counts.items()]
    return np.sort(np.concatenate(parts))


def _pool_json(pool: Pool) -> str:
    return json.dumps({name: [(one.source, one.output) for one in shown] for name, shown in pool.items()})


def _pool(text: str) -> dict[str, list[Example]]:
    return {name: [Example(*one) for one in shown] for name, shown in json.loads(text).items()}


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
    writer: Ask, judge: Ask, documents: pd.DataFrame, params: DocLens, summaries: Summaries
) -> tuple[pd.DataFrame, pd.DataFrame, Unscored]:
    """Judge every system's summaries: (JUDGED with the task as item, texts without citations, unscored rows).

    A question is one claim unless ``summaries.question_claims`` is "listed": DocLens's scores of questions (Table 33)
    are whole percentages of its 100 questions, although its text lists claims.
    """
    judged, shown, unscored = [], [], list[dict[str, str | None]]()
    for task, table in documents.groupby("task", sort=True):
        complete = documents_of(table)
        systems = writer_systems(str(task), _pool(table["examples"].iloc[0]), summaries)
        for name, (prompt, examples) in systems.items():
            complete, failed = await write_systems(writer, complete, prompt, {name: examples})
            unscored += failed
        citing = [*json.loads(table["citing"].iloc[0])]
        citing += [name for name, (prompt, _) in systems.items() if prompt == CITED[str(task)]]
        single = task == "questions" and summaries.question_claims == "one"
        found, texts = await judge_outputs(
            judge, complete, params, how="whole", citing=citing, written=list(systems), one_claim=single
        )
        judged.append(found.table.assign(item=str(task)))
        shown.append(texts.assign(task=str(task)))
        unscored += found.unscored
    if not judged:
        return judged_table([]), pd.DataFrame(columns=["document", "system", "text", "task"], dtype="str"), unscored
    return pd.concat(judged, ignore_index=True), pd.concat(shown, ignore_index=True), unscored
