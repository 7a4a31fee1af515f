"""Speed of writing notes and compact versions, in one process without a server."""

import statistics
import time
from collections.abc import Iterator
from typing import Any

import pandas as pd

from tasks.domains.rules import load_rules
from tasks.judges.simulated_notes import WRITER
from tasks.notes.prompting import build_prompts, system_message
from tasks.notes.writing import conversation
from tasks.simulator import dispatch
from tasks.simulator.request import ChatRequest
from tests.support.records import NETWORK, random_records

RECORDS, ROUNDS = 1000, 3


def benches() -> Iterator[dict[str, Any]]:
    """Notes and compact versions per second. There is no peer: no package writes notes by grammar."""
    prompts = build_prompts(random_records(RECORDS), NETWORK, load_rules(), seed=7)
    asked = _note_requests(prompts)
    rewriting = [_compact_request(request, dispatch.complete(request)) for request in asked]
    yield _row("notes written a second, no server", asked)
    yield _row("compact versions written a second, no server", rewriting)


def _note_requests(prompts: pd.DataFrame) -> list[ChatRequest]:
    system = ("system", system_message().content)
    return [ChatRequest(WRITER, (system, ("user", text)), seed=n) for n, text in enumerate(prompts["single_prompt"])]


def _compact_request(request: ChatRequest, note: str) -> ChatRequest:
    turns = conversation(request.last, note)
    return ChatRequest(WRITER, tuple((turn.role, turn.content) for turn in turns), seed=request.seed)


def _row(name: str, requests: list[ChatRequest]) -> dict[str, Any]:
    speeds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for request in requests:
            dispatch.complete(request)
        speeds.append(len(requests) / (time.perf_counter() - begun))
    ours = statistics.median(speeds)
    return {
        "name": name,
        "ours": ours,
        "peer": None,
        "peer_name": None,
        "ratio": None,
        "unit": "notes/s",
        "n": len(requests) * ROUNDS,
    }
