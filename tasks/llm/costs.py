"""Tokens and dollars of calls: those that a reply reports, and estimates from the lengths of texts."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from schemas.params.llm import Price, RoleName
from tasks.llm.calls import Answer, Ask, Call

CHARACTERS_A_TOKEN = 4.0
"""Of English prose, by OpenAI's rule of thumb."""

FREE = Price(prompt=0.0, completion=0.0)


@dataclass(frozen=True)
class Usage:
    """Tokens of one call. ``cached``: prompt tokens that the endpoint had cached; ``estimated``: not reported by it."""

    prompt: int
    completion: int
    cached: int = 0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion


def cost(price: Price, usage: Usage, *, batch: bool = False) -> float:
    """Dollars of a call."""
    factor = price.batch_factor if batch else 1.0
    cached = price.prompt if price.cached is None else price.cached
    prompt = price.prompt * (usage.prompt - usage.cached) + cached * usage.cached
    return factor * (prompt + price.completion * usage.completion) / 1e6


@dataclass(frozen=True)
class Used:
    """Sums over distinct replies that a run used, whether paid for in it or kept from an earlier one."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """Total requests of a stage to one role: calls, tokens sent, tokens received."""

    role: RoleName
    calls: int
    prompt_tokens: int
    completion_tokens: int

    def dollars(self, price: Price | None) -> float | None:
        """Its cost; None without a price."""
        return None if price is None else cost(price, Usage(self.prompt_tokens, self.completion_tokens))

    def times(self, factor: float) -> "Estimate":
        """The same for so many times the records."""
        counts = (self.calls, self.prompt_tokens, self.completion_tokens)
        return Estimate(self.role, *(round(factor * count) for count in counts))


def tokens(text: str) -> int:
    """About how many tokens a text has."""
    return round(len(text) / CHARACTERS_A_TOKEN)


def request_tokens(content: bytes) -> int:
    """About how many tokens a request's JSON bytes take as a prompt."""
    body = json.loads(content)
    format_tokens = tokens(json.dumps(body["response_format"])) if "response_format" in body else 0
    return format_tokens + sum(tokens(message["content"]) + 4 for message in body["messages"])


def message_tokens(call: Call) -> int:
    """About how many tokens the messages of a call have."""
    return sum(tokens(message.content) for message in call.messages)


class CountedAsk:
    """An `Ask` that counts the calls that pass through it, and those that failed by reason, and estimates their tokens.

    Tokens are estimated from the lengths of the texts.

    ``sent``: tokens of a call's prompt, by default those of its messages without the form of the reply.
    """

    def __init__(self, ask: Ask, sent: Callable[[Call], int] = message_tokens) -> None:
        self._ask, self._sent, self.label = ask, sent, ask.label
        self.calls, self.prompt_tokens, self.completion_tokens = 0, 0, 0
        self.failures: Counter[str] = Counter()

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer the calls by the wrapped client."""
        answers = await self._ask(calls)
        self.calls += len(calls)
        self.failures.update(answer.failure for answer in answers if answer.failure is not None)
        self.prompt_tokens += sum(map(self._sent, calls))
        self.completion_tokens += sum(tokens(answer.text or answer.raw or "") for answer in answers)
        return answers
