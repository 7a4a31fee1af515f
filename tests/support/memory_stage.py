"""A `Stage` that keeps its tables in memory: runs stage flows without Prefect, DVC or an endpoint."""

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd
import pandera.pandas as pa

from flows.repository.pipeline import PUBLISHED, StageFiles, stage_files
from flows.runtime.chunks import Frames, cut, join
from flows.runtime.stage import Stage
from flows.runtime.tables import check
from schemas.params import Params
from schemas.tables.records import BY_NETWORK
from schemas.tables.registry import schema_of
from tasks.domains.in_use import domain_file
from tasks.llm.calls import Ask
from tasks.network.definition import NetworkDefinition, load_definition
from tests.support.imports import ROOT
from tests.support.scripted import DirectAsk


class MemoryStage:
    """Replaces `flows.runtime.stage.Stage` for several stages in turn; ``tables`` holds every saved table by stem."""

    def __init__(self, params: Params, folder: Path, name: str = "") -> None:
        self.params, self.folder, self.name = params, folder, name
        self.tables: dict[str, pd.DataFrame] = {}
        self.asked: list[str] = []
        self.sources: Path | None = None
        self.judges: dict[str, Ask] = {}
        self.forms: dict[str, dict[str, str]] = {}

    @cached_property
    def network(self) -> NetworkDefinition:
        return load_definition(self.dep("network"))

    def load(self, stem: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        checked = check(self.tables[stem], self._schema(stem), stem)
        return checked if columns is None else checked[list(columns)]

    def load_metrics(self, stem: str) -> pd.DataFrame:
        return self.tables[stem]

    def save(self, stem: str, frame: pd.DataFrame) -> None:
        self.tables[stem] = check(frame, self._schema(stem), stem)

    def save_nothing(self) -> None:
        Stage.save_nothing(self)  # type: ignore[arg-type]

    @property
    def files(self) -> StageFiles:
        return stage_files(ROOT / PUBLISHED, self.name)

    def _schema(self, stem: str) -> pa.DataFrameSchema:
        return BY_NETWORK[stem](self.network) if stem in BY_NETWORK else schema_of(stem, self.name)

    def save_metrics(self, stem: str, frame: pd.DataFrame) -> None:
        self.tables[stem] = frame

    def save_unscored(self, stem: str, frame: pd.DataFrame, *, of: int, uncounted: pd.DataFrame | None = None) -> None:
        assert of >= len(frame)
        self.tables[stem] = frame if uncounted is None else pd.concat([frame, uncounted], ignore_index=True)

    def dep(self, stem: str) -> Path:
        if stem == "network":
            return domain_file("network")
        return ROOT / "tasks" / "papers" / "printed" / f"{stem}.csv"

    def out(self, stem: str) -> Path:
        return self.folder / stem

    def save_text(self, stem: str, text: str) -> None:
        self.out(stem).write_text(text, encoding="utf-8")

    def answered_by(self, name: str) -> "MemoryStage":
        self.asked.append(name)
        return self

    def returned(self, stem: str, form: str) -> dict[str, str]:
        return self.forms.get(stem, {})

    def provenance(self, roles: Sequence[str]) -> str:
        return ", ".join(f"{role}: in memory" for role in roles)

    def ask(self, role: str) -> Ask:
        self.asked.append(role)
        if role in self.judges:
            return self.judges[role]
        return DirectAsk(f"vignette-{role}")

    async def in_chunks(self, work: Callable[..., Awaitable[Frames]], frames: Frames, *, by: str = "record") -> Frames:
        chunks = cut(frames, by, self.params.runtime.chunk_rows)
        return join([await work(chunk, self.ask, self.params) for chunk in chunks])
