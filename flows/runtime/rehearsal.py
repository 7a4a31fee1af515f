"""Runs stages on a few documents in this process: for a trial, or to estimate what they would cost by a rehearsal.

In a rehearsal the simulator does the work. Its requests are counted, and scaled by what was drawn fewer of: nothing is
paid, and no earlier run is needed.
"""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flows.repository.pipeline import (
    StageFiles,
    declared_outputs,
    model_stages,
    needed_by,
    read_pipeline,
    stage_files,
    stage_function,
    with_needed,
)
from flows.repository.workspace import FINGERPRINTS, LOGGER
from flows.runtime.chunks import ChunkWork, Frames
from flows.runtime.costs import Line, identified, priced
from flows.runtime.domain import load_domain, require_rules
from flows.runtime.identities import probe
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.params.base import Section
from schemas.params.llm import SIMULATOR, Role
from tasks.llm.costs import Estimate
from tasks.progress import progress, unseen
from tasks.tracking.lineage import CODE_STAGE
from tasks.transport.inspection import counted

JUDGED, BY_NOTES = "judged", "patients_by_notes"
SIZES = {
    *("records", "notes", "pool", "patients", JUDGED, BY_NOTES, "planted_questions"),
    *("each", "assertions", "with_symptoms", "without_symptoms"),
}
"""Names of params that say how many are drawn. In a section, all are made smaller by the same factor."""
OF_PATIENTS = ("visits", "summarise", "history_qa")
"""Sections whose sizes are of the same patients, of whom those with many visits are a list."""
FEW, DOCUMENTS = 5, 6
"""Most of what a section draws, and documents of outside data, in a rehearsal."""


def rehearsal_of(params: Params, store: Path) -> Params:
    """``params`` with the simulator in all roles, a store of its own, no limit on failures."""
    rules = {name: Role(base_url=SIMULATOR, model=f"vignette-{name}", temperature=0.0) for name in params.roles}
    runtime = {"store": str(store), "sending": {}, "max_unscored_share": 1.0, "dask": None, "accept_lost_calls": True}
    return params.model_copy(
        update={
            "roles": rules,
            "runtime": params.runtime.model_copy(update=runtime),
            "note_qa": params.note_qa.model_copy(update={"protocol": "vignette"}),
        }
    )


def with_little_training(params: Params) -> Params:
    """``params`` with the least of what is drawn and trained after the calls."""
    learned = params.baselines
    xgboost = learned.xgboost.model_copy(update={"grid": "first", "folds": 2, "verify": 1})
    least = {"seeds": learned.seeds[:1], "processes": 1, "draws": 100, "calibration_folds": 2, "xgboost": xgboost}
    least["neural"] = learned.neural.model_copy(update={"least_rows": 1})
    return params.model_copy(
        update={
            "network": params.network.model_copy(update={"draws": 100, "held_out": 500}),
            "baselines": learned.model_copy(update=least),
            "text_confounding": params.text_confounding.model_copy(update={"draws": 10}),
        }
    )


def fewer(params: Params, most: int = FEW) -> Params:
    """``params`` with about ``most`` of what each section draws, and the rest of the section in proportion."""
    long, changed = params.visits.long_visits, {}
    for name, section in params:
        sizes = _sizes(section)
        by = sum(sum(of) if isinstance(of, list) else of for of in sizes.values()) // most
        if name in OF_PATIENTS:
            patients = params.visits.patients
            by = min(patients // most, len(long) or patients)  # one with many visits stays
        by = max(by, 1)
        few: dict[str, Any] = {
            size: [max(min(one, 1), one // by) for one in of] if isinstance(of, list) else max(1, of // by)
            for size, of in sizes.items()
        }
        if BY_NOTES in few:  # a few records have a patient with one note, if none with more
            few[BY_NOTES][0] = few[BY_NOTES][0] or max(few[BY_NOTES])
        if name == "visits":
            few["long_visits"] = long[(len(long) - 1) // 2 :: by]
        if few:
            changed[name] = section.model_copy(update=few)
    return params.model_copy(update=changed)


def _sizes(section: object) -> dict[str, Any]:
    return {name: of for name, of in section if name in SIZES and of} if isinstance(section, Section) else {}


def share(whole: Params, few: Params, listed: Collection[str], drawn: int = 0) -> float | None:
    """How often the sizes that a stage lists, by ``few``, go into those by ``whole``; None where it lists none.

    ``drawn``: the patients of the stage. A few records have fewer with several notes than ``few`` asks for.
    """
    found = []
    for name, section in whole:
        sizes = [size for size in _sizes(section) if {name, f"{name}.{size}"} & {*listed}]
        sizes = [JUDGED] if JUDGED in sizes else sizes  # some of those that are written
        if BY_NOTES in sizes:  # which stages without patients list, too
            found += [max(1.0, _size(whole, name, BY_NOTES) / drawn)] if drawn else []
        elif sizes:
            all_of, some = (sum(_size(params, name, size) for size in sizes) for params in (whole, few))
            found.append(all_of / some)
    return min(found, default=None)


def _size(params: Params, section: str, size: str) -> int:
    """A size; there are no more notes than records, nor patients with notes of records."""
    of = getattr(getattr(params, section), size)
    number = sum(of) if isinstance(of, list) else int(of)
    return min(number, params.sample.records) if size in ("notes", BY_NOTES) else number


@dataclass
class Sample:
    """The first ``most`` documents of each table of documents, or all, and how much longer all of their texts are."""

    most: int | None = DOCUMENTS
    whole: int = 0
    part: int = 0
    patients: int = 0

    def of(self, frames: Frames, by: str) -> Frames:
        """The tables with a few documents; tables by other columns are small already."""
        values = sorted(set().union(*(frame[by].unique() for frame in frames.values())))
        self.patients = len(values) if by == "patient" else self.patients
        if by != "document" or self.most is None:
            return frames
        few = {*values[:: max(1, -(-len(values) // self.most))]}
        cut = {name: frame[frame[by].isin(few)] for name, frame in frames.items()}
        self.whole, self.part = self.whole + _length(frames), self.part + _length(cut)
        return cut

    @property
    def times(self) -> float:
        """How often the texts of the sample go into all."""
        return self.whole / self.part if self.part else 1.0


def _length(frames: Frames) -> int:
    return sum(int(frame.map(lambda cell: len(str(cell))).to_numpy().sum()) for frame in frames.values())


class SmallStage(Stage):
    """A stage that works on few documents in this process, without Prefect, confirmation or progress."""

    def __init__(self, files: StageFiles, params: Params, fingerprints: Path, sample: Sample) -> None:
        super().__init__(files, params, fingerprints)
        self.sample = sample

    async def in_chunks(self, work: ChunkWork, frames: Frames, *, by: str = "record") -> Frames:
        return await work(self.sample.of(frames, by), self.ask, self.params)

    def answered_by(self, name: str) -> Stage:
        return self


@dataclass(frozen=True)
class Ran:
    """What became of a stage: the error that ended it, if any, and how often its calls go into those of a whole run.

    ``used``: calls and tokens by role, of replies that the store had, too.
    """

    files: StageFiles
    used: Sequence[Estimate]
    error: Exception | None
    times: float


async def run_small(
    pipeline: Path,
    names: Collection[str],
    whole: Params,
    few: Params,
    folder: Path,
    is_stopped: Callable[[str], bool] = lambda _: False,
    documents: int | None = DOCUMENTS,
) -> AsyncIterator[Ran]:
    """Run stages and those that they need one after the other with the params ``few``, and their outputs in ``folder``.

    ``is_stopped``: whether a stage is left out, asked before it starts. ``documents``: see `Sample`.
    """
    load_domain(whole.domain)
    if whole.by_rules:
        require_rules(whole.domain)
    stages = _stages(pipeline, names)
    needs = needed_by(stages)
    order = [*TopologicalSorter(needs).static_order()]
    made = {Path(path) for name in order for path in declared_outputs(stages[name])}
    made |= {FINGERPRINTS / f"{role}.json" for role in few.roles}
    times = dict[str, float]()
    placed = {name: _moved(stage_files(pipeline, name), made, folder) for name in order}
    for file in (file for files in placed.values() for file in files.outs.values()):  # also of what will not be run
        shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)
    for name, files in placed.items():
        if is_stopped(name):
            continue
        stage, error = SmallStage(files, few, folder / FINGERPRINTS, Sample(documents)), None
        try:
            await stage_function(name.partition("@")[0])(stage)
            stage.require_answers()
        except Exception as raised:
            error = raised
        own = share(whole, few, files.params or (), stage.sample.patients)
        inner = min((times[other] for other in needs[name] if other in times), default=1.0)
        times[name] = stage.sample.times * (inner if own is None else own)
        used = stage.used_by_role()
        await stage.close()
        yield Ran(files, used, error, times[name])


def _stages(pipeline: Path, names: Collection[str]) -> dict[str, Any]:
    """These stages and those that they need, as dvc.yaml declares them; without those of other commands."""
    stages = {name: stage for name, stage in read_pipeline(pipeline).items() if "vignette stage" in stage["cmd"]}
    stages.pop(CODE_STAGE, None)
    needed = with_needed(stages, names)
    return {name: stage for name, stage in stages.items() if name in needed}


def _moved(files: StageFiles, made: Collection[Path], folder: Path) -> StageFiles:
    """The files of a stage, those that a stage makes, and folders of them, in ``folder``."""
    within = {*made, *(outer for path in made for outer in path.parents if outer != Path())}

    def place(path: Path) -> Path:
        return folder / path if path in within or {*path.parents} & {*made} else path

    deps, outs = ({stem: place(path) for stem, path in of.items()} for of in (files.deps, files.outs))
    return replace(files, deps=deps, outs=outs)


def estimates(params: Params, pipeline: Path, only: Collection[str] | None = None) -> tuple[list[Line], dict[str, str]]:
    """The estimates of the stages that call a model, or of those in ``only``; and of those without one, the reason."""
    asked = [name for name in model_stages(pipeline) if only is None or name in only]
    logger = logging.getLogger(LOGGER)
    logger.disabled = True  # of a stage that runs meanwhile
    try:
        with TemporaryDirectory() as folder:
            return asyncio.run(_rehearse(params, pipeline, asked, Path(folder))) if asked else ([], {})
    finally:
        logger.disabled = False


async def _rehearse(
    params: Params, pipeline: Path, asked: Collection[str], folder: Path
) -> tuple[list[Line], dict[str, str]]:
    store = folder / "rehearsal.sqlite"
    few = with_little_training(fewer(rehearsal_of(params, store)))
    ran = dict[str, Ran]()
    with progress("estimate", len(_stages(pipeline, asked)), "stage") as count, unseen():
        await probe(few, list(few.roles), folder / FINGERPRINTS)
        async for one in run_small(pipeline, asked, params, few, folder):
            ran[one.files.name] = one
            count.update()
    found, lines, failed = counted(store), [], dict[str, str]()
    for name in asked:
        if name not in ran:
            failed[name] = "its command is not `vignette stage`, which alone is rehearsed"
            continue
        # What follows the calls of a stage may need more than a few documents.
        how = "rehearsed" if ran[name].error is None else "rehearsed in part"
        lines += [priced(params, name, one.times(ran[name].times), how) for one in found.get(name, [])]
        if (error := ran[name].error) is not None and not ran[name].used:
            failed[name] = " ".join(f"{type(error).__name__}: {error}".split())
    return identified(params, lines), failed
