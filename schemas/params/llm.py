"""Roles: which endpoint and model does which work, how it samples, how it is asked and what it costs."""

from typing import Any, Literal

from pydantic import Field

from schemas.params.base import Section

RoleName = Literal["writer", "annotator", "judge", "answerer"]
IdentityField = Literal["endpoint", "asked", "answered", "owner", "system_fingerprint"]

_COUNTED: tuple[IdentityField, ...] = ("endpoint", "asked", "answered", "owner")
EMBEDDED = "embedded"
"""The base_url of the endpoint that ships."""


class Role(Section):
    """One role's endpoint and sampling settings: all that shapes its replies."""

    base_url: str  # "embedded", or any OpenAI-compatible address
    model: str
    api_key_env: str = "OPENAI_API_KEY"  # name of the variable that holds the key; never the key itself
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, gt=0)
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"  # newer models want the latter
    send_seed: bool = True  # send the sample index as seed; false for endpoints that refuse it
    structured: Literal["json_schema", "json_object", "prompt"] = "json_schema"  # how a structured reply is asked for
    reasks: int = Field(default=2, ge=0)  # times an invalid reply is asked again
    extra_body: dict[str, Any] = Field(default_factory=dict)  # sent along as it is: top_p, reasoning_effort, ...
    identity: list[IdentityField] = Field(default_factory=lambda: list(_COUNTED))  # what makes it the same model
    canary_similarity: float = Field(default=0.6, ge=0, le=1)  # below it the epoch goes up

    @property
    def is_embedded(self) -> bool:
        """Whether the rules that ship do this role's work."""
        return self.base_url == EMBEDDED


class Sending(Section):
    """How requests travel to a role's endpoint; changes no output byte."""

    transport: Literal["direct", "batch"] = "direct"  # batch: OpenAI's Batch API, half the price, within a day
    concurrency: int = Field(default=32, gt=0)  # most requests in flight; fewer while the endpoint pushes back
    rpm: int | None = Field(default=None, gt=0)  # requests a minute
    tpm: int | None = Field(default=None, gt=0)  # tokens a minute
    timeout_s: float = Field(default=120.0, gt=0)  # of one attempt
    retries: int = Field(default=8, ge=0)  # further attempts after a failure on the way
    backoff_s: float = Field(default=0.5, ge=0)  # wait before the first further attempt; doubles each time, to 60 s
    longest_wait_s: float = Field(default=900.0, ge=0)  # an endpoint that asks to wait longer stops the stage
    breaker_failures: int = Field(default=20, gt=0)  # failures in a row, over at least breaker_s, that stop the stage
    breaker_s: float = Field(default=60.0, ge=0)
    batch_poll_s: float = Field(default=30.0, gt=0)
    batch_collect_s: float = Field(default=2.0, ge=0)  # a batch is sent when no request came for so long


class Price(Section):
    """What a model costs, in dollars a million tokens."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    batch_factor: float = Field(default=0.5, ge=0)  # share of the price that the Batch API takes


class Budget(Section):
    """The cap of a run. It holds for all that is spent under the ledger's name, over any number of restarts."""

    ledger: str = "default"  # a new name starts from zero
    dollars: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
