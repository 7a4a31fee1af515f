"""The requests that the store lacks, collected instead of sent, and their replies from the result file of a batch.

Both files are of the form of OpenAI's Batch API, which other servers read as well: a line of JSON for each request or
result. The store holds what was collected, so that a result file needs nothing but the ids of the requests.
"""

import asyncio
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import sqlalchemy as sa

from schemas.errors import IdentityError, MissingError
from schemas.params.llm import Price, RoleName
from tasks.llm.costs import FREE
from tasks.llm.replies import LONGEST_ERROR, SendFailure, read_completion
from tasks.llm.requests import Request
from tasks.transport.database import Where, connect, missing, responses, transaction, upsert
from tasks.transport.fingerprint import Fingerprint, require_answered
from tasks.transport.ledger import add_to_ledger
from tasks.transport.prices import paid_reply
from tasks.transport.shown import printable
from tasks.transport.store import Paid, ResponseStore, pack, unpack
from tasks.transport.untrusted import json_lines

MOST_REQUESTS = 20_000
"""Requests of a file. OpenAI takes 50,000 and 200 MB, which so many requests of 10,000 characters have."""
PAUSE_S, PAUSES = 0.1, 20
"""A round ends after so many pauses in a row that bring no request."""


class Collector:
    """Notes the requests of one role that have no reply. A call whose reply is missing never returns.

    So nothing is computed from an incomplete answer, and each noted request is one that the run would send.
    """

    _noted: ClassVar[int] = 0
    """Requests noted by all roles of this process."""

    def __init__(self, store: ResponseStore, role: RoleName, fingerprint: Fingerprint, stage: str) -> None:
        self._store, self._of = store, {"identity": fingerprint.key, "role": role, "stage": stage}
        self._end: asyncio.Task[None] | None = None

    async def note(self, request: Request) -> NoReturn:
        """Note a request; raises MissingError once no other one has come for a moment."""
        row = {"key": request.key, "task": request.task, "request": pack(request.content), "sample": request.sample}
        row |= self._of | {"collected": time.time()}
        statement = upsert(missing, collected="excluded.collected")
        await self._store.do(lambda connection: connection.execute(statement, row).close())
        Collector._noted += 1
        self._end = self._end or asyncio.create_task(_no_more())
        await asyncio.shield(self._end)
        raise MissingError(f"{Collector._noted} requests have no reply yet; they are noted, and nothing was sent")


async def _no_more() -> None:
    pauses = 0
    while pauses < PAUSES:
        before = Collector._noted
        await asyncio.sleep(PAUSE_S)
        pauses = pauses + 1 if Collector._noted == before else 0


def batch_files(connection: sa.Connection, begun: float) -> Iterator[tuple[str, list[str]]]:
    """Role and lines of each file to send: the requests noted since ``begun`` (seconds since 1970), a model a file."""
    c = missing.c
    connection.execute(sa.delete(missing).where(c.key.in_(sa.select(responses.c.key))))
    rows = connection.execute(sa.select(missing).where(c.collected >= begun).order_by(c.role, c.identity, c.key))
    for (role, _), theirs in groupby(rows, key=lambda row: (row.role, row.identity)):
        lines = [
            f'{{"custom_id":"{row.key.hex()}","method":"POST","url":"/v1/chat/completions","body":{unpack(row.request)}}}'
            for row in theirs
        ]
        for start in range(0, len(lines), MOST_REQUESTS):
            yield role, lines[start : start + MOST_REQUESTS]


@dataclass
class Results:
    """What an import did: replies added, their cost, and why lines of the file gave none."""

    added: int = 0
    dollars: float = 0.0
    problems: list[str] = field(default_factory=list)


def import_results(
    where: Where, file: Path, ledger: str, prices: Mapping[str, Price], models: Iterable[Fingerprint]
) -> Results:
    """Keep the replies of a result file, and book them at the price of a batch; requests without one stay missing.

    ``models``: the recorded identities; a reply of another model than the one asked is not kept. Raises SourceError,
    and keeps nothing, for a file that cannot be read.
    """
    found, recorded = Results(), {one.key: one for one in models}
    with connect(where) as connection, transaction(connection):
        for number, line in json_lines(file):
            try:
                reply = _reply(connection, line, prices, recorded)
            except (SendFailure, IdentityError, ValueError, KeyError, TypeError, AttributeError) as error:
                found.problems.append(printable(f"line {number}: {error}"[:LONGEST_ERROR]))
                continue
            if reply.insert(connection):
                add_to_ledger(connection, ledger, reply.dollars, reply.prompt_tokens + reply.completion_tokens)
                found.added += 1
                found.dollars += reply.dollars
    return found


def _reply(
    connection: sa.Connection, line: Any, prices: Mapping[str, Price], recorded: Mapping[str, Fingerprint]
) -> Paid:
    of_request = missing.c.key == bytes.fromhex(line["custom_id"])
    noted = connection.execute(sa.select(missing).where(of_request)).one_or_none()
    if noted is None:
        raise ValueError(f"custom_id {line['custom_id']}: `vignette store missing` wrote no such request here")
    response = line.get("response") or {}
    if line.get("error") or response.get("status_code") != 200:
        raise ValueError(f"{noted.stage}: {json.dumps(line.get('error') or response)}")
    body, request = json.dumps(response["body"]), unpack(noted.request)
    completion = read_completion(body)
    if noted.identity in recorded:
        require_answered(recorded[noted.identity], completion)
    price = prices.get(completion.model) or prices.get(json.loads(request)["model"], FREE)
    about = {name: getattr(noted, name) for name in ("key", "identity", "role", "stage", "task", "sample")}
    return paid_reply(about, request.encode(), body, completion, price, batch=True)
