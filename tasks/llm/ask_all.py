"""Asks a model about many things at once, and keeps what it answered apart from what failed."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from tasks.llm.calls import Answer, Ask, Call, Reply, unscored_row

K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=Reply)
V = TypeVar("V")
Unscored = list[dict[str, str | None]]
"""Rows of the unscored table, see `tasks.llm.calls.unscored_row`."""
Step = str | Callable[[Any], str]
"""Name of the step in unscored rows: the same for all calls, or made from the key of the call."""


async def ask_all(ask: Ask, calls: Mapping[K, Call], reply: type[R], step: Step) -> tuple[dict[K, R], Unscored]:
    """The structured replies by key, in the order of ``calls``, and an unscored row for every failed call.

    The key of a call is its record, or a tuple whose first element is the record.
    """

    def read(answer: Answer) -> R | None:
        return answer.value if isinstance(answer.value, reply) else None

    return await _answered(ask, calls, read, step, "not the reply asked for")


async def ask_texts(
    ask: Ask, calls: Mapping[K, Call], step: Step, read: Callable[[str], V | None] | None = None, lacking: str = "empty"
) -> tuple[dict[K, V], Unscored]:
    """As `ask_all` for replies in plain text: what ``read`` makes of each, by default the text itself.

    A reply of which ``read`` makes None is unscored, with the reason ``lacking``.
    """
    parse: Callable[[str], Any] = read or (lambda text: text.strip() or None)
    return await _answered(ask, calls, lambda answer: parse(answer.text or ""), step, lacking)


async def _answered(
    ask: Ask, calls: Mapping[K, Call], read: Callable[[Answer], V | None], step: Step, lacking: str
) -> tuple[dict[K, V], Unscored]:
    values: dict[K, V] = {}
    unscored: Unscored = []
    for key, answer in zip(calls, await ask(list(calls.values())), strict=True):
        value = read(answer) if answer.ok else None
        if value is not None:
            values[key] = value
        else:
            unscored.append(failed_row(key, step, answer, lacking))
    return values, unscored


def failed_row(key: Hashable, step: Step, answer: Answer, lacking: str) -> dict[str, str | None]:
    """The unscored row of one answer that cannot be used."""
    record = key[0] if isinstance(key, tuple) else key
    named = step if isinstance(step, str) else step(key)
    return unscored_row(str(record), named, answer.failure or lacking, answer.raw or answer.text)
