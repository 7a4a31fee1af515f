"""Asks a model about one thing or many, and keeps what it answered apart from what failed.

A reply that cannot be used is asked for again with its problem, and one that was cut off with twice the length limit.
"""

from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any, TypeVar

from schemas.params.llm import Role
from tasks.llm.calls import Answer, Ask, Call, Reply, unscored_row
from tasks.llm.replies import Completion, CutOff, Runaway, SendFailure, Unusable, read_reply
from tasks.llm.requests import ask_again, role_for

K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=Reply)
V = TypeVar("V")
Unscored = list[dict[str, str | None]]
"""Rows of the unscored table, see `tasks.llm.calls.unscored_row`."""
Step = str | Callable[[Any], str]
"""Name of the step in unscored rows: the same for all calls, or made from the key of the call."""
Obtain = Callable[[Call, Role], Awaitable[Completion]]
"""Obtains the reply to a call as a role samples it, kept or from the endpoint. Raises SendFailure."""

_PREFIX = "Value error, "
"""What pydantic writes before the message of a validator."""
_SHOWN_OF_RUNAWAY = 200
"""Characters of a reply of a model that did not stop which it is shown when it is asked again."""


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
            record = key[0] if isinstance(key, tuple) else key
            named = step if isinstance(step, str) else step(key)
            unscored.append(unscored_row(str(record), named, answer.failure or lacking, answer.raw or answer.text))
    return values, unscored


async def answer_call(call: Call, name: str, role: Role, obtain: Obtain) -> Answer:
    """The answer to ``call`` by the role called ``name``. Raises only what ``obtain`` raises beside SendFailure."""
    asked, sampling, reasks = call, role, role.reasks
    raw: str | None = None
    while True:
        try:
            completion = await obtain(asked, sampling)
        except SendFailure as failure:
            return Answer(call.key, failure=failure.reason, raw=raw, lost=failure.may_pass)
        raw = completion.text
        try:
            most = role_for(sampling, asked).max_tokens
            value = read_reply(completion, call.reply, call.context, most, is_printed=call.form != "ours")
            return Answer(call.key, text=raw, value=value)
        except CutOff as problem:
            longer = _doubled(role_for(role, asked), completion)
            if sampling is not role or longer is None:
                return Answer(call.key, failure=f"unusable reply: {problem}; raise roles.{name}.max_tokens", raw=raw)
            sampling = longer
        except Unusable as problem:
            if reasks == 0:
                return Answer(call.key, failure=f"unusable reply: {str(problem).replace(_PREFIX, '')}", raw=raw)
            reasks -= 1
            shown = raw[:_SHOWN_OF_RUNAWAY] if isinstance(problem, Runaway) else raw
            asked = ask_again(asked, shown, str(problem))


def _doubled(role: Role, cut: Completion) -> Role | None:
    """The role with twice its length limit, up to its cap; None where that is no more than now.

    Where the role sets no limit, that of the endpoint is the length of the reply that was cut off.
    """
    limit = role.max_tokens or (cut.usage.completion if cut.usage else 0)
    longer = min(double := 2 * limit, role.max_tokens_limit or double)
    return role.model_copy(update={"max_tokens": longer}) if longer > limit else None
