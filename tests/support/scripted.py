"""Clients for tests: one that answers by a function, and one that asks the simulator in this process."""

from collections.abc import Callable, Sequence

from pydantic import ValidationError

from tasks.llm.calls import Answer, Call, Reply
from tasks.llm.replies import Completion, Unusable, read_reply
from tasks.simulator.dispatch import complete
from tasks.simulator.request import ChatRequest

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


class DirectAsk(ScriptedAsk):
    """Answers calls with the simulator, in order."""

    def __init__(self, model: str = "vignette-judge", temperature: float = 0.0) -> None:
        self.label = f"{model} (simulator's rules)"
        self.model, self.temperature = model, temperature
        self.calls: list[Call] = []

    def _answer(self, call: Call) -> Answer:
        messages = tuple((m.role, m.content) for m in call.messages)
        text = complete(ChatRequest(self.model, messages, seed=call.sample, temperature=self.temperature))
        if call.reply is None:
            return Answer(call.key, text=text)
        try:
            return Answer(call.key, text=text, value=call.reply.model_validate_json(text, context=call.context))
        except ValidationError as error:
            return Answer(call.key, failure=f"invalid reply: {error.error_count()} errors", raw=text)
