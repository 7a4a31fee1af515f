"""DocLens on short summaries: questions of MeQSum, impressions of radiology reports (Section 4.1).

The input's sentences are numbered and cited. Outside outputs and the writer's are judged; the writer counts as one
system per number of in-context examples. Citations are judged only for systems that cite.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from schemas.errors import MissingSourceError, SourceError
from schemas.params.measures import Summaries
from tasks.measures.doclens.citations import number_sentences, read_statements, without_citations
from tasks.measures.doclens.judging import Plan, citing_systems
from tasks.measures.doclens.writing import Example, Writer, writer, writer_name
from tasks.texts.document import Document
from tasks.texts.reading import outputs_by_id, read_table

MEQSUM = "doclens/meqsum_test.json"
"""MeQSum's test questions in sources.folder."""
CITED = {"questions": "cited_question", "impressions": "cited_impression"}
"""The writer's prompt of each task."""
UNCITED = {"questions": "uncited_question", "impressions": "uncited_impression"}
"""The same without citations (Table 36)."""
DOCUMENT_STREAM = 89
Pool = Mapping[str, Sequence[Example]]
"""In-context examples by category."""


@dataclass(frozen=True)
class Task:
    """One kind of summary: the sampled documents, the writer's systems, and what is judged."""

    name: str
    documents: list[Document]
    writers: list[Writer]
    plan: Plan


def read_tasks(folder: Path | None, params: Summaries, *, seed: int) -> list[Task]:
    """The tasks whose files are there, with seeded samples of their documents; ids begin with the task.

    A question is one claim unless ``params.question_claims`` is "listed": DocLens's scores of questions (Table 33) are
    whole percentages of its 100 questions, although its text lists claims.
    """
    if folder is None:
        return []
    files = {
        "questions": (MEQSUM, params.questions, params.question_outputs),
        "impressions": (params.radiology, params.reports, params.impression_outputs),
    }
    found = []
    for at, (name, (file, limit, systems)) in enumerate(files.items()):
        try:
            documents, categories = _read(folder / file)
        except MissingSourceError:
            continue
        outputs = {system: outputs_by_id(folder / path) for system, path in systems.items()}
        random = np.random.default_rng([seed, DOCUMENT_STREAM, at])
        chosen = [documents[place] for place in sample(pd.Series(categories), limit, random)]
        pool = read_pool(folder / params.radiology_examples) if name == "impressions" else {}
        writers = task_writers(name, pool, params)
        one_claim = name == "questions" and params.question_claims == "one"
        found.append(_task(name, chosen, outputs, writers, one_claim=one_claim))
    return sorted(found, key=lambda task: task.name)


def _read(file: Path) -> tuple[list[Document], list[str]]:
    """The documents of a file and the category of each, such as modality and anatomy; empty where it has none."""
    table, documents = read_table(file)
    categories = [str(row.values.get("category") or "") for row in table.rows]
    return [replace(document, dialogue=False) for document in documents], categories


def _task(
    name: str,
    documents: Sequence[Document],
    outputs: Mapping[str, Mapping[str, str]],
    writers: list[Writer],
    *,
    one_claim: bool,
) -> Task:
    given = [{system: texts[one.id] for system, texts in outputs.items() if one.id in texts} for one in documents]
    complete = [replace(one, id=f"{name}-{one.id}", outputs=own) for one, own in zip(documents, given, strict=True)]
    citing = [*citing_systems(complete), *(system.name for system in writers if system.prompt == CITED[name])]
    return Task(name, complete, writers, Plan(citing=citing, expected=[w.name for w in writers], one_claim=one_claim))


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


def read_pool(file: Path) -> dict[str, list[Example]]:
    """The user's examples by category: reports whose impressions cite as outputs do; empty without the file.

    Raises SourceError for an impression without a citation.
    """
    if not file.exists():
        return {}
    pool: dict[str, list[Example]] = {}
    for document, category in zip(*_read(file), strict=True):
        impression = document.reference or ""
        if not any(statement.citations for statement in read_statements(impression)):
            raise SourceError(f"{file}: id {document.id}: impression has no citation; expected one such as [3]")
        pool.setdefault(category, []).append(Example(number_sentences(document.units), impression))
    return pool


def task_writers(task: str, pool: Pool, params: Summaries) -> list[Writer]:
    """The systems of the writer.

    With a ``pool``, impressions get as many examples of each category as `Summaries.examples` says (0, 6 or 12 for six
    categories, as in Section A.4.4), otherwise the built-in ones.
    """
    found = []
    for count in params.examples:
        cited = writer(CITED[task], count)
        if task == "impressions" and pool:
            shown = tuple(example for name in sorted(pool) for example in pool[name][:count])
            cited = Writer(writer_name(len(shown)), CITED[task], shown)
        found.append(cited)
        if params.without_citations:
            plain = tuple(Example(one.source, without_citations(one.output)) for one in cited.examples)
            found.append(Writer(f"{cited.name}, without citations", UNCITED[task], plain))
    return found
