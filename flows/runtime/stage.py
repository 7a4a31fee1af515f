"""Gives a stage its params, its tables by name, model clients, and chunked execution."""

import logging
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pandera.pandas as pa

from flows.repository.params import is_collecting
from flows.repository.pipeline import StageFiles
from flows.repository.workspace import FINGERPRINTS, LOGGER, answerer_fingerprints, write_text
from flows.runtime.chunks import CHUNKS_AT_ONCE, ChunkWork, Frames, cut, join, run_here
from flows.runtime.sources import SourceFolder, declared_sources, fingerprint_file, sources_folder
from flows.runtime.tables import read_table, write_table
from schemas.errors import UnscoredError, VignetteError
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.columns import typed
from schemas.tables.metrics import METRICS
from schemas.tables.records import BY_NETWORK
from schemas.tables.registry import TABLES, schema_of
from schemas.tables.stems import entry_of
from tasks.llm.calls import Ask
from tasks.llm.costs import Estimate, Used
from tasks.network.definition import NetworkDefinition, load_definition

if TYPE_CHECKING:
    from flows.runtime.clients import Clients, Confirm


HOW_STAGES_RUN = frozenset(
    {"domain", "prompts", "roles", "prices", "sources", "runtime", "budget", "watch", "baselines.processes"}
)
"""Params that no stage lists: they change no byte of its outputs, or a file that it depends on follows them."""


class Stage:
    """One run of one stage.

    ``files`` are those that dvc.yaml declares for it: a table that is not declared can neither be read nor written, and
    ``params`` has those that dvc.yaml lists. ``confirm`` is called before the first paid call, and may refuse it.
    """

    def __init__(
        self, files: StageFiles, params: Params, fingerprints: Path = FINGERPRINTS, confirm: "Confirm | None" = None
    ) -> None:
        self.name, self.files, self.all_params = files.name, files, params
        self.params = params if files.params is None else params.declared_only(files.params | HOW_STAGES_RUN)
        self._fingerprints, self._confirm = fingerprints, confirm
        self._others: dict[str, Stage] = {}
        self._opened: list[Clients] = []  # by this stage and by those with other models, which share the list
        self.rows: dict[str, int] = {}
        """Rows of each table written so far, by stem."""
        self.unscored = 0
        """Rows in unscored tables written so far."""

    @cached_property
    def _clients(self) -> "Clients":
        from flows.runtime.clients import Clients  # loads httpx and sqlalchemy, which most stages never use

        self._opened.append(Clients(self.name, self.all_params, self._confirm, fingerprints=self._fingerprints))
        return self._opened[-1]

    @cached_property
    def network(self) -> NetworkDefinition:
        """The declared definition of the domain's network."""
        return load_definition(self.files.dep("network"))

    def load(self, stem: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Read and check a declared input table, or its ``columns`` only."""
        return self._read(stem, self._schema(stem), columns)

    def load_metrics(self, stem: str) -> pd.DataFrame:
        """Read and check a declared metric table."""
        return self._read(stem, METRICS)

    def save(self, stem: str, frame: pd.DataFrame) -> None:
        """Check and write a declared output table."""
        self._write(stem, frame, self._schema(stem))

    def save_nothing(self) -> None:
        """Write all declared outputs without rows or text, as where the outside data of a stage is missing."""
        for stem, file in self.files.outs.items():
            if file.suffix not in (".csv", ".parquet"):
                self.save_text(stem, "")
            elif entry_of(stem, self.name, TABLES):
                self.save(stem, typed([], self._schema(stem)))
            else:
                self.save_metrics(stem, typed([], METRICS))

    def _schema(self, stem: str) -> pa.DataFrameSchema:
        return BY_NETWORK[stem](self.network) if stem in BY_NETWORK else schema_of(stem, self.name)

    def _read(self, stem: str, schema: pa.DataFrameSchema, columns: Sequence[str] | None = None) -> pd.DataFrame:
        frame = read_table(self.files.dep(stem), schema, columns)
        logging.getLogger(LOGGER).info("%s: %d rows read", stem, len(frame))
        return frame

    def _write(self, stem: str, frame: pd.DataFrame, schema: pa.DataFrameSchema) -> None:
        write_table(frame, self.files.out(stem), schema)
        self.rows[stem] = len(frame)
        logging.getLogger(LOGGER).info("%s: %d rows written", stem, len(frame))

    def dep(self, stem: str) -> Path:
        """Path of a declared input that is not a table (vectors, a network definition)."""
        return self.files.dep(stem)

    def out(self, stem: str) -> Path:
        """Path of a declared output that is not a table."""
        return self.files.out(stem)

    def save_text(self, stem: str, text: str) -> None:
        """Write a declared output that is a text."""
        write_text(self.out(stem), text)

    def returned(self, stem: str, form: str) -> dict[str, str]:
        """Texts of the returned files in a declared folder that were filled in for the form with id ``form``, by name.

        Files of another form belong to an earlier lineage, whose commit holds them. They are skipped with a message.
        """
        from tasks.people.forms import read_returned, split_by_form  # loads Jinja, which few stages need

        folder = self.files.dep(stem)
        files = {file.name: read_returned(file) for file in sorted(folder.glob("*.json"))}
        current, older = split_by_form(files, form)
        for name, other in older.items():
            message = f"{folder / name} was filled in for form {other}, the current one is {form}: skipped"
            print(f"{self.name}: {message}", file=sys.stderr)
            logging.getLogger(LOGGER).warning(message)
        return current

    def save_metrics(self, stem: str, frame: pd.DataFrame) -> None:
        """Write a metric table, sorted by its key."""
        keys = ["stage", "system", "condition", "item", "metric"]
        self._write(stem, frame.sort_values(keys, ignore_index=True), METRICS)

    def save_unscored(self, stem: str, frame: pd.DataFrame, *, of: int, uncounted: pd.DataFrame | None = None) -> None:
        """Write the unscored rows; raises UnscoredError when they are more than the allowed share of ``of`` rows.

        ``uncounted`` rows name what there was too little data for, which is no failure.
        """
        together = frame if uncounted is None else pd.concat([frame, uncounted], ignore_index=True)
        self.save(stem, together.sort_values(["record", "step"], ignore_index=True))
        self.unscored += len(frame)
        see = f"; see {self.files.out(stem)}"
        require_scored(frame, of, self.params.runtime.max_unscored_share, f"stage {self.name}", see)

    @cached_property
    def sources(self) -> Path | None:
        """The folder of outside data, restricted to the files that the stage declares; None where there is none.

        Raises SourceError, see sources_folder and SourceFolder.
        """
        folder = sources_folder(self.params.sources.folder, [fingerprint_file(self.name)])
        if folder is None:
            return None
        declared = declared_sources(self.name, self.params)
        return SourceFolder.of(folder, self.name, [folder / name for name in declared])

    def ask(self, role: RoleName) -> Ask:
        """The client of a role, which answers calls from the store or, within budget and rate limits, its endpoint."""
        if self.files.params is not None and role not in self.files.roles:
            raise VignetteError(
                f"stage {self.name} asks the {role}; add fingerprints/{role}.json to its deps in dvc.yaml"
            )
        return self._clients.of(role)

    async def in_chunks(self, work: ChunkWork, frames: Frames, *, by: str = "record") -> Frames:
        """Run ``work`` on chunks of ``runtime.chunk_rows`` values of the ``by`` column, each chunk a Prefect task.

        Every frame is cut by the same values; the chunks' results are concatenated in order.
        """
        chunks = cut(frames, by, self.params.runtime.chunk_rows)
        if is_collecting() or self.params.runtime.dask is None:
            at_once = len(chunks) if is_collecting() else CHUNKS_AT_ONCE  # each round has those of the whole table
            return join(await run_here(self.name, work, chunks, self.params, self.ask, at_once=at_once))
        from flows.runtime.dask_chunks import run_on_dask

        return join(await run_on_dask(self._clients, work, chunks, self.params))

    def answered_by(self, name: str) -> "Stage":
        """This stage with an answerer of ``note_qa_outside.answerers`` in that role, the only one to ask."""
        if name not in self._others:
            own = answerer_fingerprints(name)
            self._others[name] = Stage(self.files, self.all_params.answered_by(name), own, self._confirm)
            self._others[name]._opened = self._opened  # whose clients are closed together
        return self._others[name]

    def require_answers(self) -> None:
        """Raises EndpointError when calls failed on the way, so that DVC does not take the stage for finished."""
        for clients in self._opened:
            clients.require_answers()

    def used(self) -> tuple[set[bytes], Used]:
        """The store's keys of the replies that the stage used, and their tokens and dollars."""
        keys = set[bytes]().union(*(clients.used_keys() for clients in self._opened))
        return keys, self._opened[0].used(keys) if keys else Used()

    def used_by_role(self) -> list[Estimate]:
        """The calls and tokens of the same, by role."""
        return [one for clients in self._opened for one in clients.used_by_role()]

    async def close(self) -> None:
        """Close the clients."""
        for clients in self._opened:
            await clients.close()

    def provenance(self, roles: Sequence[RoleName]) -> str:
        """The models behind the numbers, for the provenance column of metric tables."""
        return ", ".join(f"{role}: {self.ask(role).label}" for role in roles)


def require_scored(unscored: pd.DataFrame, of: int, allowed: float, where: str, see: str = "") -> None:
    """Raises UnscoredError when more than the share ``allowed`` of ``of`` rows is unscored."""
    if len(unscored) > allowed * max(of, 1):
        reasons = unscored["reason"].value_counts().head(3).to_dict()
        raise UnscoredError(
            f"{where}: {len(unscored)} of {of} rows unscored, more than runtime.max_unscored_share "
            f"{allowed:g}; most frequent reasons {reasons}{see}"
        )
