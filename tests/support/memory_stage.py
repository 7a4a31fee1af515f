"""A `Stage` that keeps its tables in memory: runs stage flows without Prefect, DVC or an endpoint."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pandas as pd
import pandera.pandas as pa

from flows.engine.chunks import Frames, cut, join
from flows.engine.tables import check
from schemas.params import Params
from tasks.domains.in_use import domain_file
from tasks.llm.calls import Ask
from tests.support.direct import DirectAsk
from tests.support.imports import ROOT


class MemoryStage:
    """Replaces `flows.engine.stage.Stage` for several stages in turn; ``tables`` holds every saved table by stem."""

    def __init__(self, params: Params, folder: Path) -> None:
        self.params, self.folder = params, folder
        self.tables: dict[str, pd.DataFrame] = {}
        self.asked: list[str] = []
        self.sources: Path | None = None
        self.forms: dict[str, dict[str, str]] = {}

    def load(self, stem: str, schema: pa.DataFrameSchema, columns: Sequence[str] | None = None) -> pd.DataFrame:
        checked = check(self.tables[stem], schema, stem)
        return checked if columns is None else checked[list(columns)]

    def save(self, stem: str, frame: pd.DataFrame, schema: pa.DataFrameSchema) -> None:
        self.tables[stem] = check(frame, schema, stem)

    def save_metrics(self, stem: str, frame: pd.DataFrame) -> None:
        self.tables[stem] = frame

    def save_unscored(self, stem: str, frame: pd.DataFrame, *, of: int) -> None:
        assert of >= len(frame)
        self.tables[stem] = frame

    def dep(self, stem: str) -> Path:
        if stem == "network":
            return domain_file("network")
        return ROOT / "tasks" / "reproduction" / "published" / f"{stem}.csv"

    def out(self, stem: str) -> Path:
        return self.folder / stem

    def answered_by(self, name: str) -> "MemoryStage":
        self.asked.append(name)
        return self

    def returned(self, stem: str, form: str) -> dict[str, str]:
        return self.forms.get(stem, {})

    def provenance(self, roles: Sequence[str]) -> str:
        return ", ".join(f"{role}: in memory" for role in roles)

    def ask(self, role: str) -> Ask:
        self.asked.append(role)
        return DirectAsk(f"vignette-{role}")

    async def in_chunks(self, work: Callable[..., Awaitable[Frames]], frames: Frames, *, by: str = "record") -> Frames:
        chunks = cut(frames, by, self.params.runtime.chunk_rows)
        return join([await work(chunk, self.ask, self.params) for chunk in chunks])
