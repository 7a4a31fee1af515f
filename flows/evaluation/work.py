"""Judges the documents of one evaluation and makes all of its tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import pandas as pd
import pandera.pandas as pa

from flows.engine.chunks import ChunkWork, Frames
from flows.engine.stage import require_scored
from flows.evaluation.chunk_work import judge_chunk, lost_table, planted_chunk, write_chunk
from schemas.errors import SourceError
from schemas.params import Params
from schemas.params.evaluate import Evaluate
from schemas.params.llm import RoleName
from schemas.tables.evaluate import ANSWERED, CLAIMS, DIFFERENTIALS, DOCUMENT_SCORES, OMITTED_FACTS, SYSTEM_COMPARISONS
from schemas.tables.evaluation import PLANTED
from schemas.tables.metrics import METRICS, UNSCORED
from tasks.evaluation.calibration.judge_rates import rate_rows
from tasks.evaluation.doclens.outputs_work import citing_systems
from tasks.evaluation.documents import questions
from tasks.evaluation.documents.judging import Work, writer_names, writer_prompt
from tasks.evaluation.documents.model import Document, documents_of, documents_table, system_names
from tasks.evaluation.documents.planted import numbered, sampled_references
from tasks.evaluation.documents.reading import DataSet, output_files, read_documents
from tasks.evaluation.documents.sections import default_sectioning
from tasks.evaluation.documents.tables import Setting, claims_table, metric_and_score_tables, omitted_facts
from tasks.evaluation.documents.unscored_systems import failed_documents
from tasks.tracking.systems import compare_systems

SORTED = {
    "judged": ["document", "system", "condition", "item", "metric", "position"],
    "facts": ["document", "fact"],
    "omitted": ["document", "system", "fact"],
    "answered": questions.KEY,
}
"""Order of tables before scores are computed: sums of floats depend on it."""


class Runner(Protocol):
    """Runs chunks and knows the models: a stage, or a run of the command."""

    params: Params

    async def in_chunks(self, work: ChunkWork, frames: Frames, *, by: str = "record") -> Frames: ...

    def provenance(self, roles: Sequence[RoleName]) -> str: ...


@dataclass(frozen=True)
class Evaluation:
    """The documents, how they were judged, and the tables with their schemas by file stem."""

    documents: list[Document]
    systems: list[str]
    work: Work
    files: tuple[Path, ...]
    judged: int
    tables: dict[str, tuple[pd.DataFrame, pa.DataFrameSchema]]

    def with_table(self, stem: str, frame: pd.DataFrame, schema: pa.DataFrameSchema) -> "Evaluation":
        """The evaluation with a further table."""
        return replace(self, tables={**self.tables, stem: (frame, schema)})

    def table(self, stem: str) -> pd.DataFrame:
        """The table of that stem."""
        return self.tables[stem][0]


@dataclass(frozen=True)
class Judgements:
    """The documents with all outputs, how they were judged, the judgements by table, and what could not be judged."""

    documents: list[Document]
    work: Work
    made: Frames
    unscored: pd.DataFrame


def read_data(chosen: Evaluate) -> DataSet:
    """The documents of an evaluation. Raises SourceError with one line for each defect."""
    data = read_documents(
        Path(chosen.data),
        output_files(chosen.outputs),
        chosen.map,
        claims=None if chosen.claims is None else Path(chosen.claims),
        split=chosen.split,
        allow_empty=chosen.allow_empty,
    )
    return require_work(chosen, data)


def require_work(chosen: Evaluate, data: DataSet) -> DataSet:
    """The chosen documents. Raises SourceError when there is no output, or no reference for a metric that needs one."""
    documents, systems = data.documents[: chosen.documents], system_names(data.documents)
    if not systems and not chosen.write:
        raise SourceError(
            f"{chosen.data}: no output to evaluate; expected a field output or outputs, files given with --outputs, "
            "or outputs of the writer (--write 0)"
        )
    if ("overlap" in chosen.metrics or chosen.planted) and not any(document.reference for document in documents):
        wanting = "overlap" if "overlap" in chosen.metrics else "--planted"
        raise SourceError(
            f"{chosen.data}: {wanting} needs references, and no document has one; name their column with "
            "--map reference=COLUMN, or leave it out"
        )
    if chosen.write and "section" in chosen.write_by and writer_prompt(documents, data.layout) != "cited_note":
        raise SourceError(
            f"{chosen.data}: --write-by section is for SOAP notes of dialogues, and most sources are none; "
            "use --write-by whole"
        )
    return replace(data, documents=documents)


async def evaluate(runner: Runner, chosen: Evaluate, data: DataSet) -> Evaluation:
    """Have outputs written if asked for, judge all outputs, and compare the systems."""
    judged = await judge_all(runner, chosen, data)
    documents, work, params = judged.documents, judged.work, runner.params
    made_by = runner.provenance(roles_of(chosen, data))
    setting = Setting(params.seed, made_by, params.med_omit.variant, params.overlap)
    systems = list(dict.fromkeys([*system_names(documents), *work.written]))
    tables = _tables(judged, systems, setting, params)
    return Evaluation(documents, systems, work, data.files, _judged(judged.made), tables)


async def judge_all(runner: Runner, chosen: Evaluate, data: DataSet) -> Judgements:
    """Have outputs written if asked for, and judge all outputs."""
    documents, unscored, params = data.documents, [], runner.params
    work = _plan(chosen, data)
    frames = {"documents": documents_table(documents), "lost": lost_table([])}
    if chosen.write:
        made = await runner.in_chunks(partial(write_chunk, work), frames, by="document")
        documents, unscored = documents_of(made["documents"]), [made["unscored"]]
        frames = {"documents": made["documents"], "lost": made["lost"]}
    work = replace(work, citing=sorted({*citing_systems(documents), *work.written}))
    made = await runner.in_chunks(partial(judge_chunk, work), frames, by="document")
    unscored.append(made["unscored"])
    for name, keys in SORTED.items():
        if name in made:
            made[name] = made[name].sort_values(keys, ignore_index=True)
    if chosen.planted:
        made |= await _planted(runner, sampled_references(documents, chosen.planted, seed=params.seed), unscored)
    left_out = pd.concat(unscored, ignore_index=True).sort_values(["record", "step"], ignore_index=True)
    return Judgements(documents, work, made, left_out)


def roles_of(chosen: Evaluate, data: DataSet) -> list[RoleName]:
    """The roles that an evaluation calls."""
    roles: list[RoleName] = ["writer"] if chosen.write else []
    if "qa" in chosen.metrics:
        lacking = any(document.questions is None for document in data.documents)
        roles += ["annotator", "answerer"] if lacking else ["answerer"]
    return [*roles, "judge"]


async def _planted(runner: Runner, documents: list[Document], unscored: list[pd.DataFrame]) -> Frames:
    """Planted cases with the judge's answers; its failures are added to ``unscored``."""
    made = await runner.in_chunks(planted_chunk, {"documents": documents_table(documents)}, by="document")
    unscored.append(made["unscored"])
    return {"planted": numbered(made["planted"])}


def _plan(chosen: Evaluate, data: DataSet) -> Work:
    how = default_sectioning(data.documents, data.layout) if chosen.sections == "auto" else chosen.sections
    prompt = writer_prompt(data.documents, data.layout)
    history = chosen.omissions == "history" or (chosen.omissions == "auto" and data.layout == "aci_bench")
    return Work(
        chosen.metrics,
        how,
        "history" if history else "whole",
        write=chosen.write,
        prompt=prompt,
        write_by=chosen.write_by,
        written=writer_names(chosen.write, chosen.write_by),
    )


def _judged(made: Frames) -> int:
    """Number of judgements, failed ones included."""
    return sum(len(made[name]) for name in ("judged", "omitted", "answered", "planted") if name in made)


def _tables(
    judged: Judgements, systems: list[str], setting: Setting, params: Params
) -> dict[str, tuple[pd.DataFrame, pa.DataFrameSchema]]:
    made, left_out = judged.made, judged.unscored
    require_scored(left_out, _judged(made) + len(left_out), params.runtime.max_unscored_share, "evaluation")
    metrics, scores = metric_and_score_tables(judged.documents, judged.work, made, setting)
    failed = failed_documents(left_out, systems)
    comparisons = compare_systems(scores, failed, systems, seed=setting.seed)
    tables = {
        "metrics": (metrics, METRICS),
        "comparisons": (comparisons, SYSTEM_COMPARISONS),
        "scores": (scores, DOCUMENT_SCORES),
        "unscored": (left_out, UNSCORED),
    }
    if "judged" in made:
        tables["claims"] = (claims_table(made), CLAIMS)
    if "facts" in made:
        tables["facts"] = (omitted_facts(made), OMITTED_FACTS)
        tables["differentials"] = (made["differentials"], DIFFERENTIALS)
    if "answered" in made:
        tables["answers"] = (made["answered"], ANSWERED)
    if "planted" in made:
        rates = rate_rows(made["planted"], system="judge", seed=setting.seed, provenance=setting.provenance)
        tables |= {"judge": (rates, METRICS), "planted": (made["planted"], PLANTED)}
    return tables
