"""What a call costs: its tokens at the price of the model that answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.errors import ParamsError
from schemas.params.llm import Budget, Price, Role, RoleName
from tasks.llm.costs import FREE, Usage, cost, tokens
from tasks.llm.replies import Completion
from tasks.llm.requests import Request
from tasks.transport.fingerprint import Fingerprint
from tasks.transport.store import Paid

FORM_TOKENS = 1000
"""Most tokens that an endpoint adds to a request."""
BYTES_A_TOKEN = 3.0
"""Of the most that a request may have: on the careful side, as English text has some four characters a token."""
ASSUMED_REPLY_TOKENS = 1500
"""Assumed length of a reply if the role sets no max_tokens."""


def upper_tokens(content: bytes) -> int:
    """An upper estimate of the tokens of a text's bytes."""
    return int(len(content) / BYTES_A_TOKEN) + 1


def can_be(usage: Usage, content: bytes) -> bool:
    """Whether a request can have so many tokens: at most as many as bytes, beside those of a chat's form."""
    return usage.prompt <= len(content) + FORM_TOKENS


def usage_of(content: bytes, completion: Completion) -> Usage:
    """The tokens that a reply to the request ``content`` reports, else an estimate from the texts of both."""
    usage = completion.usage
    if usage is not None and can_be(usage, content):
        return usage
    return Usage(tokens(content.decode()), tokens(completion.text + (completion.refusal or "")), estimated=True)


def paid_reply(
    about: Mapping[str, Any], content: bytes, body: str, completion: Completion, price: Price, *, batch: bool = False
) -> Paid:
    """The reply ``body`` to the request ``content`` as it is kept. ``about``: key, identity, and whose call it was."""
    usage = usage_of(content, completion)
    return Paid(
        **about,
        model=completion.model,
        request=content,
        reply=body,
        prompt_tokens=usage.prompt,
        completion_tokens=usage.completion,
        dollars=cost(price, usage, batch=batch),
        cached_tokens=usage.cached,
        estimated=usage.estimated,
    )


@dataclass(frozen=True)
class Prices:
    """The prices of the models that may answer one role: of the model asked for, and of others by id."""

    asked: Price | None = None
    by_model: Mapping[str, Price] = field(default_factory=dict)

    def of(self, model: str) -> Price:
        """The price of a reply by ``model``; free where no price is known."""
        return self.by_model.get(model) or self.asked or self.dearest or FREE

    @property
    def dearest(self) -> Price | None:
        """The highest of them; None when nothing is paid."""
        known = [*self.by_model.values(), *([self.asked] if self.asked else [])]
        return max(known, key=lambda price: price.prompt + price.completion, default=None)

    def most(self, request: Request) -> tuple[float, int]:
        """Dollars and tokens that an attempt can cost at most."""
        usage = Usage(upper_tokens(request.content), request.max_tokens or ASSUMED_REPLY_TOKENS)
        return cost(self.dearest or FREE, usage), usage.tokens


def role_prices(
    name: RoleName, role: Role, recorded: Fingerprint | None, budget: Budget, prices: Mapping[str, Price]
) -> Prices:
    """The prices that count for a role. Raises ParamsError when a cap in dollars is set and none is known."""
    if role.is_simulator:
        return Prices()
    answering = set(recorded.answering) if recorded else set()
    found = Prices(prices.get(role.model), {model: prices[model] for model in answering if model in prices})
    if found.dearest is None and budget.dollars is not None:
        raise ParamsError(
            f"budget.dollars is set, but prices has no entry for {role.model!r} (role {name}); "
            f"add it under prices of the params, with zeros for a model that costs nothing"
        )
    return found if found.dearest else Prices(FREE)  # reserved all the same, so that no two processes send it
