"""An `Ask` that calls the simulator in this process, without HTTP."""

from collections.abc import Sequence

from pydantic import ValidationError

from tasks.llm.calls import Answer, Call
from tasks.simulator.dispatch import complete
from tasks.simulator.request import ChatRequest


class DirectAsk:
    """Answers calls with the simulator, in order."""

    def __init__(self, model: str = "vignette-judge", temperature: float = 0.0) -> None:
        self.label = f"{model} (simulator's rules)"
        self.model, self.temperature = model, temperature

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        return [self._answer(call) for call in calls]

    def _answer(self, call: Call) -> Answer:
        messages = tuple((m.role, m.content) for m in call.messages)
        text = complete(ChatRequest(self.model, messages, seed=call.sample, temperature=self.temperature))
        if call.reply is None:
            return Answer(call.key, text=text)
        try:
            return Answer(call.key, text=text, value=call.reply.model_validate_json(text, context=call.context))
        except ValidationError as error:
            return Answer(call.key, failure=f"invalid reply: {error.error_count()} errors", raw=text)
