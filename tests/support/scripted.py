"""An `Ask` with scripted replies: a function from a call to a text, a value or a failure."""

from collections.abc import Callable, Sequence

from tasks.llm.calls import Answer, Call, Reply

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
