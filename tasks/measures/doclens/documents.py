"""What DocLens judges here: generated notes and their compact versions, and short summaries (Section 4.1).

A compact note is judged against its note, a note against what its prompt requests. Short summaries are questions of
MeQSum and impressions of radiology reports.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from schemas.errors import MissingSourceError, SourceError
from schemas.params.measures import DocLens, Summaries
from schemas.tables.columns import typed
from schemas.tables.evaluation import CITED_OUTPUTS
from tasks.domains.rules import PromptingRules
from tasks.llm.calls import Ask
from tasks.measures.doclens.citations import number_sentences, without_citations
from tasks.measures.doclens.judging import Plan, cites, citing_systems, judge, write_and_judge
from tasks.measures.doclens.writing import Example, Writer, writer, writer_name
from tasks.texts.document import WHOLE, Document, Tables, documents_of
from tasks.texts.reading import outputs_by_id, read_table

COMPACT, PROMPTED, CITED = "compact notes", "notes against prompts", "cited compact notes"


def note_documents(notes: pd.DataFrame, compact: pd.DataFrame) -> list[Document]:
    """Documents with the note as source and reference, and its compact version as output."""
    merged = notes.merge(compact[["record", "compact"]], on="record").sort_values("record")
    return [
        Document(str(row.record), (row.note,), row.note, outputs={COMPACT: row.compact}, dialogue=False)
        for row in merged.itertuples()
    ]


def prompted_documents(notes: pd.DataFrame, prompts: pd.DataFrame, rules: PromptingRules) -> list[Document]:
    """Documents with the note as output and the prompt's requested symptoms as reference.

    Prompts allow the writer to add context, so claim precision would not measure conciseness. Records whose prompt asks
    for no symptom are left out, as they have nothing to recall.
    """
    merged = notes.merge(prompts, on="record", suffixes=("", "_prompt")).sort_values("record")
    found = []
    for row in merged.to_dict("records"):
        mention, values, descriptors = (json.loads(row[name]) for name in ("mention", "values", "descriptors"))
        if claims := prompt_claims(mention, values, descriptors, rules):
            outputs, given = {PROMPTED: row["note"]}, {WHOLE: claims}
            found.append(Document(str(row["record"]), (), " ".join(claims), claims=given, outputs=outputs))
    return found


def prompt_claims(
    mention: Sequence[str], values: Mapping[str, str], descriptors: Mapping[str, str | None], rules: PromptingRules
) -> tuple[str, ...]:
    """Claims requested by a prompt: each symptom with its value, and its descriptor as a separate claim."""
    claims = []
    for symptom in mention:
        name = rules.labels.get(symptom, symptom)
        claims.append(f"The patient {_state(rules, symptom, name, values[symptom])}.")
        if descriptors.get(symptom):
            claims.append(f"The patient's {name}: {descriptors[symptom]}.")
    return tuple(claims)


def _state(rules: PromptingRules, symptom: str, name: str, value: str) -> str:
    if value in (worded := rules.claims.get(symptom, {})):
        return f"has {worded[value]}"
    if value == rules.absent_value.get(symptom, "no"):
        return f"does not have {name}"
    return f"has {name}" if rules.is_plain(symptom) else f"has {value} {name}"


async def judge_notes(
    write: Ask,
    ask: Ask,
    notes: pd.DataFrame,
    compact: pd.DataFrame,
    prompts: pd.DataFrame,
    rules: PromptingRules,
    params: DocLens,
) -> Tables:
    """Tables verdicts, unscored, and cited (CITED_OUTPUTS): compact notes that cite the notes' sentences."""
    citing = [writer("cited_compact", params.writer_examples, name=CITED)]
    plan = Plan(citing=[CITED], claimed=[COMPACT], expected=[CITED])
    own = await write_and_judge(write, ask, note_documents(notes, compact), citing, plan, params)
    prompted = prompted_documents(notes, prompts, rules)
    asked = await judge(ask, prompted, Plan(precision=False, glossary=rules.glossary), params)
    cited = [
        {"record": int(one.id), "cited": one.outputs[CITED], "provenance": write.label}
        for one in documents_of(own["documents"])
        if CITED in one.outputs
    ]
    both = {name: pd.concat([own[name], asked[name]], ignore_index=True) for name in ("verdicts", "unscored")}
    return {**both, "cited": typed(cited, CITED_OUTPUTS)}


MEQSUM = "doclens/meqsum_test.json"
"""MeQSum's test questions in sources.folder."""
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
        complete = []
        for place in sample(pd.Series(categories), limit, random):
            one = documents[place]
            own = {system: texts[one.id] for system, texts in outputs.items() if one.id in texts}
            complete.append(replace(one, id=f"{name}-{one.id}", outputs=own))
        pool = read_pool(folder / params.radiology_examples) if name == "impressions" else {}
        writers = task_writers(name, pool, params)
        citing = [*citing_systems(complete), *(one.name for one in writers if one.prompt == _prompt(name))]
        one_claim = name == "questions" and params.question_claims == "one"
        plan = Plan(citing=citing, expected=[one.name for one in writers], one_claim=one_claim)
        found.append(Task(name, complete, writers, plan))
    return sorted(found, key=lambda task: task.name)


def _prompt(task: str, cited: str = "cited") -> str:
    """The writer's prompt of a task; ``uncited``: the same without citations (Table 36)."""
    return f"{cited}_{task.removesuffix('s')}"


def _read(file: Path) -> tuple[list[Document], list[str]]:
    """The documents of a file and the category of each, such as modality and anatomy; empty where it has none."""
    table, documents = read_table(file)
    categories = [str(row.values.get("category") or "") for row in table.rows]
    return [replace(document, dialogue=False) for document in documents], categories


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
    """The user's examples by category; none without the file. Raises SourceError where an impression cites nothing."""
    if not file.exists():
        return {}
    pool: dict[str, list[Example]] = {}
    for document, category in zip(*_read(file), strict=True):
        impression = document.reference or ""
        if not cites(impression, len(document.units)):
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
        cited = writer(_prompt(task), count)
        if task == "impressions" and pool:
            shown = tuple(example for name in sorted(pool) for example in pool[name][:count])
            cited = Writer(writer_name(len(shown)), _prompt(task), shown)
        found.append(cited)
        if params.without_citations:
            plain = tuple(Example(one.source, without_citations(one.output)) for one in cited.examples)
            found.append(Writer(f"{cited.name}, without citations", _prompt(task, "uncited"), plain))
    return found
