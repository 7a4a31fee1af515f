"""The interface of the language-model layer: calls in, answers out, in the same order.

A stage builds `Call`s, awaits its `Ask`, and turns each `Answer` into a value or a row of its unscored table.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import pandas as pd
from pydantic import BaseModel, ConfigDict

from schemas.params.llm import RoleName
from schemas.tables.columns import typed
from schemas.tables.metrics import UNSCORED


class Reply(BaseModel):
    """Base of every structured reply. The docstring of a subclass describes that kind of reply to the model."""

    model_config = ConfigDict(extra="forbid")
    lists: ClassVar[bool] = False
    """Whether it says what is judged and what that weighs, rather than judges."""

    @classmethod
    def from_printed(cls, printed: Any, context: Mapping[str, Any]) -> dict[str, Any] | None:
        """A reply in the form that a paper prints as the fields of ours; None where it has another form.

        ``printed``: the JSON that the reply holds, or its text where it holds none. Raises ValueError for what the
        printed form does not allow.
        """
        return None


@dataclass(frozen=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


Form = Literal["ours", "either", "printed"]
"""In which form a reply is read; "printed": a paper's (or ours), which the messages alone ask for."""


@dataclass(frozen=True)
class Call:
    """One request to a role's model. The role adds model and sampling settings.

    ``key`` names the record and step in progress, errors and unscored rows (``"17/consistency/1"``). ``sample``
    is sent as ``seed``: the same messages with another sample index are another request. ``context`` is pydantic's
    validation context: what the validators of ``reply`` compare a reply with, such as the ids that it may name.
    ``temperature`` replaces the role's, unless the role sends none. ``least_tokens``: tokens that the reply may need; a
    role with a lower ``max_tokens`` allows so many, unless its ``protocol`` is that of the paper. ``form``: of a
    structured reply, see `tasks.llm.printed`.
    """

    key: str
    messages: tuple[Message, ...]
    reply: type[Reply] | None = None
    sample: int = 0
    context: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    temperature: float | None = None
    least_tokens: int = 0
    form: Form = "ours"

    @property
    def described(self) -> type[Reply] | None:
        """The reply whose form the request describes; None where the messages alone ask for it."""
        return None if self.form == "printed" else self.reply


@dataclass(frozen=True)
class Answer:
    """What came of a call: ``text`` (and ``value`` for a structured reply), or ``failure``; never both."""

    key: str
    text: str | None = None
    value: Reply | None = None
    failure: str | None = None
    raw: str | None = field(default=None, repr=False)  # the last raw reply of a failed call, when there was one
    lost: bool = False  # failed on the way, not because of its content: asking again later may succeed

    @property
    def ok(self) -> bool:
        """Whether the call was answered in the form asked for."""
        return self.failure is None


class Ask(Protocol):
    """Answers calls in order. A failed call is an `Answer` with ``failure``, never an exception.

    Raises only what stops the whole stage: EndpointError, IdentityError, BudgetError.
    """

    label: str
    """What answers, for provenance columns: ``gpt-4o-2024-05-13`` or ``vignette-writer (simulator's rules)``."""

    def __call__(self, calls: Sequence[Call]) -> Awaitable[list[Answer]]: ...


Asks = Callable[[RoleName], Ask]
"""The client of a role."""


def unscored_row(record: int | str, step: str, reason: str, detail: str | None = None) -> dict[str, str | None]:
    """One row; ``detail`` is the raw reply, when there was one."""
    return {"record": str(record), "step": step, "reason": reason, "detail": detail}


def unscored_table(rows: Iterable[dict[str, str | None]]) -> pd.DataFrame:
    """The rows as a table, with the right types when there are none."""
    return typed(list(rows), UNSCORED)
