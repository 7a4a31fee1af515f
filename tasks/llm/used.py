"""The replies that a run used, whether paid for in it or kept from an earlier one: their tokens and dollars."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tasks.llm.database import Connection

_AT_ONCE = 500  # below the limit of values in one statement


@dataclass(frozen=True)
class Used:
    """Sums over distinct replies."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0


def sum_used(connection: Connection, keys: Collection[bytes]) -> Used:
    """Sums over the kept replies with these keys; a key without a reply counts nothing."""
    sums = [0, 0, 0, 0.0]
    for some in _parts(sorted(keys)):
        row = connection.execute(
            "SELECT COUNT(*), COALESCE(CAST(SUM(prompt_tokens) AS BIGINT), 0), "
            "COALESCE(CAST(SUM(completion_tokens) AS BIGINT), 0), COALESCE(SUM(dollars), 0) FROM responses "
            f"WHERE key IN ({', '.join('?' * len(some))})",
            some,
        ).fetchone()
        sums = [before + value for before, value in zip(sums, row, strict=True)]
    return Used(int(sums[0]), int(sums[1]), int(sums[2]), float(sums[3]))


def _parts(keys: list[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(keys), _AT_ONCE):
        yield keys[start : start + _AT_ONCE]
