"""An `Ask` with scripted replies: a function from a call to a text, a value or a failure."""

from collections.abc import Callable, Sequence

from tasks.llm.calls import Answer, Call, Reply
from tasks.llm.replies import Completion, Unusable, read_reply

Said = str | Reply | Exception


class ScriptedAsk:
    """Answers each call with what ``script`` returns: text, a structured reply, or an exception for a failure."""

    label = "scripted"

    def __init__(self, script: Callable[[Call], Said]) -> None:
        self.script = script
        self.calls: list[Call] = []

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        self.calls += calls
        return [self._answer(call) for call in calls]

    def _answer(self, call: Call) -> Answer:
        said = self.script(call)
        if isinstance(said, Exception):
            return Answer(call.key, failure=str(said), raw=getattr(said, "raw", "raw reply"))
        if isinstance(said, Reply):
            return Answer(call.key, text=said.model_dump_json(), value=said)
        return Answer(call.key, text=said)


def as_reply(call: Call, text: str) -> Said:
    """``text`` read as the client reads a reply to ``call``: a structured reply, or the failure."""
    try:
        return read_reply(Completion(text, None, "stop", "scripted", None), call.reply, call.context) or text
    except Unusable as problem:
        return problem
