"""Answers one call: obtains replies to it until one can be used, or it may not be asked again.

A reply that cannot be used is asked for again with its problem, and one that was cut off with twice the length limit.
"""

from collections.abc import Awaitable, Callable

from schemas.params.llm import Role
from tasks.llm.calls import Answer, Call
from tasks.llm.replies import Completion, CutOff, SendFailure, Unusable, read_reply
from tasks.llm.requests import ask_again, role_for

Obtain = Callable[[Call, Role], Awaitable[Completion]]
"""Obtains the reply to a call as a role samples it, kept or from the endpoint. Raises SendFailure."""

_PREFIX = "Value error, "
"""What pydantic writes before the message of a validator."""


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
            return Answer(call.key, text=raw, value=read_reply(completion, call.reply, call.context))
        except CutOff as problem:
            longer = _doubled(role_for(role, asked), completion)
            if sampling is not role or longer is None:
                return Answer(call.key, failure=f"unusable reply: {problem}; raise roles.{name}.max_tokens", raw=raw)
            sampling = longer
        except Unusable as problem:
            if reasks == 0:
                return Answer(call.key, failure=f"unusable reply: {str(problem).replace(_PREFIX, '')}", raw=raw)
            reasks -= 1
            asked = ask_again(asked, raw, str(problem))


def _doubled(role: Role, cut: Completion) -> Role | None:
    """The role with twice its length limit, up to its cap; None where that is no more than now.

    Where the role sets no limit, that of the endpoint is the length of the reply that was cut off.
    """
    limit = role.max_tokens or (cut.usage.completion if cut.usage else 0)
    longer = min(2 * limit, role.max_tokens_limit or 2 * limit)
    return role.model_copy(update={"max_tokens": longer}) if longer > limit else None
