"""Cuts a stage's work into chunks of rows and runs each as a Prefect task, with retries."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import pandas as pd

from schemas.errors import VignetteError, first_cause
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.llm.calls import Ask
from tasks.progress import CHUNK, progress

Frames = dict[str, pd.DataFrame]
"""Tables by name."""

ChunkWork = Callable[[Frames, Callable[[RoleName], Ask], Params], Awaitable[Frames]]
"""Work on one chunk: a module-level function, so that it can run in another process."""

CHUNKS_AT_ONCE = 2  # the second uses the endpoint while the first waits for its slowest reply


async def run_here(
    name: str,
    work: ChunkWork,
    chunks: Sequence[Frames],
    params: Params,
    ask: Callable[[RoleName], Ask],
    *,
    at_once: int,
) -> list[Frames]:
    """Run ``work`` on each chunk in this process and return the results in the order of the chunks."""
    from prefect import task  # takes seconds to import, and an evaluation outside a stage does without
    from prefect.cache_policies import NO_CACHE

    results: dict[int, Frames] = {}
    gate = asyncio.Semaphore(at_once)

    # The closure passes the frames, so that Prefect serialises only the number.
    @task(
        name=f"{name} chunk", retries=2, retry_condition_fn=worth_retrying, cache_policy=NO_CACHE, persist_result=False
    )
    async def run_chunk(number: int) -> None:
        results[number] = await work(chunks[number], ask, params)

    with progress(name, len(chunks), CHUNK) as count:

        async def run_one(number: int) -> None:
            async with gate:
                await run_chunk(number)
            count.update()

        async with asyncio.TaskGroup() as group:
            for number in range(len(chunks)):
                group.create_task(run_one(number))
    return [results[number] for number in range(len(chunks))]


@dataclass(frozen=True)
class Chunks(Sequence[Frames]):
    """Chunks of ``frames``, copied out of them one at a time; ``rows`` are positions by table and chunk."""

    frames: Frames
    rows: Mapping[str, Mapping[int, npt.NDArray[Any]]]
    size: int

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, number: int) -> Frames:  # type: ignore[override]
        """The rows of chunk ``number``."""
        if not 0 <= number < self.size:
            raise IndexError(number)
        return {name: frame.iloc[self.rows[name].get(number, [])] for name, frame in self.frames.items()}


def cut(frames: Frames, by: str, rows: int) -> Chunks:
    """Cut every frame by the sorted values of column ``by``, with ``rows`` values per chunk."""
    values = sorted(set().union(*(frame[by].unique() for frame in frames.values())))
    chunk = {value: place // rows for place, value in enumerate(values)}
    positions = {name: frame.groupby(frame[by].map(chunk)).indices for name, frame in frames.items()}
    return Chunks(frames, positions, max(chunk.values(), default=0) + 1)


def join(parts: list[Frames]) -> Frames:
    """Concatenate the chunks' tables by name. Empty tables are skipped, as their column types may differ."""
    joined: Frames = {}
    for name in parts[0]:
        filled = [part[name] for part in parts if len(part[name])]
        joined[name] = pd.concat(filled or [parts[0][name]], ignore_index=True)
    return joined


async def worth_retrying(_task: object, _run: object, state: object) -> bool:
    """Whether a chunk's failure may pass: not if a VignetteError, alone or in a group, names its cause."""
    result = await state.aresult(raise_on_failure=False) if hasattr(state, "aresult") else None
    return not (isinstance(result, BaseException) and isinstance(first_cause(result), VignetteError))
