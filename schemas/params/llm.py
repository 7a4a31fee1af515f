"""Roles (endpoint, model and sampling settings), sending of requests, prices and budget."""

from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator, model_validator

from schemas.params.base import Section

RoleName = Literal["writer", "annotator", "judge", "answerer"]
IdentityField = Literal["endpoint", "asked", "answered", "owner", "system_fingerprint"]
Structured = Literal["json_schema", "json_object", "prompt"]
STRUCTURED: tuple[Structured, ...] = ("json_schema", "json_object", "prompt")
"""Ways to request a structured reply, the strictest first."""

_COUNTED: tuple[IdentityField, ...] = ("endpoint", "asked", "answered", "owner")
SIMULATOR = "simulator"
"""The base_url of the simulator."""

OPENAI_HOST = "api.openai.com"


class Role(Section):
    """A role's endpoint and sampling settings, on which its replies depend."""

    base_url: str
    """"simulator", or any OpenAI-compatible address."""
    model: str
    """Sent as it is; prices are looked up by it."""
    query: dict[str, str] = Field(default_factory=dict)
    """Added to each address: {api-version: "2024-10-21"}."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Added to each request; never a key."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """null: not sent, for models that refuse it."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Longest reply; null: not sent."""
    protocol: Literal["input", "paper"] = "input"
    """input: a long input raises max_tokens; paper: it is never raised."""
    max_tokens_limit: int | None = Field(default=None, gt=0)
    """Cap when a cut-off reply is asked with 2 * max_tokens."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Newer models want the latter."""
    send_seed: bool = True
    """Send the sample index as seed; false for endpoints that refuse it."""
    redraw: int = Field(default=0, ge=0, le=100)
    """Another number draws other replies of the same model."""
    structured: Literal["auto", "json_schema", "json_object", "prompt"] | None = None
    """auto: the strictest accepted; null: json_schema for OpenAI's host and the simulator, auto elsewhere."""
    reasks: int = Field(default=2, ge=0)
    """How often an invalid reply is asked again."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Sent as it is: top_p, reasoning_effort, ..."""
    identity: list[IdentityField] = Field(default_factory=lambda: list(_COUNTED))
    """Fields that identify the model."""
    aliases: list[str] = Field(default_factory=list)
    """Other ids under which the same model may answer."""
    canary_tokens: int = Field(default=160, gt=0)
    """Length limit of canary replies; more for models that reason first."""
    canary_level: float = Field(default=0.01, gt=0, lt=1)
    """Probability that a thousand probes of an unchanged model take it for another one, and raise the epoch."""

    @property
    def is_simulator(self) -> bool:
        """Whether the simulator serves this role."""
        return self.base_url == SIMULATOR

    @property
    def is_openai(self) -> bool:
        """Whether the endpoint is OpenAI's own."""
        return urlsplit(self.base_url).hostname == OPENAI_HOST

    @model_validator(mode="before")
    @classmethod
    def _refuse_key(cls, values: Any) -> Any:
        if isinstance(values, dict) and "api_key_env" in values:
            raise ValueError("api_key_env shapes no reply: set it in runtime.sending, under the same role")
        return values

    @field_validator("base_url", "model")
    @classmethod
    def _require_address(cls, value: str, info: ValidationInfo) -> str:
        """Refuse what the client library would fail at: both are part of addresses."""
        if not value.isprintable():
            raise ValueError("expected no line break or other control character")
        try:
            _ = info.field_name == "base_url" and urlsplit(value).port
        except ValueError:
            raise ValueError("expected simulator, or an address such as http://HOST:8000/v1") from None
        return value

    @property
    def structured_ways(self) -> tuple[Structured, ...]:
        """Ways to request a structured reply, in order; if the endpoint refuses one, the next is tried."""
        way = self.structured or ("json_schema" if self.is_simulator or self.is_openai else "auto")
        return STRUCTURED if way == "auto" else (way,)


def by_hand(setting: str) -> str:
    """Where a model that was named on the command line takes a setting of its role."""
    return f"of a model given as MODEL@URL: MODEL@URL#{setting}"


class Sending(Section):
    """How requests travel to a role's endpoint; changes no output byte."""

    api_key_env: str | None = None
    """Variable that holds the key; null: OPENAI_API_KEY for OpenAI's host, else no key."""
    api_key_header: str | None = None
    """null: "api-key" for Azure's deployment addresses, else "Authorization: Bearer"."""
    concurrency: int = Field(default=32, gt=0)
    """Most requests in flight, or waiting to be sent again after a failure."""
    rpm: int | None = Field(default=None, gt=0)
    """Requests a minute."""
    tpm: int | None = Field(default=None, gt=0)
    """Tokens a minute."""
    timeout_s: float = Field(default=120.0, gt=0)
    """Of one attempt."""
    retries: int = Field(default=8, ge=0)
    """Further attempts after a failure on the way."""
    backoff_s: float = Field(default=0.5, ge=0)
    """Wait before the first further attempt; doubles each time, to 60 s."""
    longest_wait_s: float = Field(default=900.0, ge=0)
    """An endpoint that asks to wait longer stops the stage."""
    breaker_failures: int = Field(default=20, gt=0)
    """Failures in a row, over at least breaker_s, that stop the stage."""
    breaker_s: float = Field(default=60.0, ge=0)
    """Shortest time over which breaker_failures count."""


def key_variable(role: Role, sending: Sending) -> str | None:
    """The environment variable that holds a role's key; None where requests are sent without one."""
    if role.is_simulator:
        return None
    return sending.api_key_env or ("OPENAI_API_KEY" if role.is_openai else None)


class Price(Section):
    """Price of a model, in dollars per million tokens."""

    prompt: float = Field(ge=0)
    """Tokens sent."""
    completion: float = Field(ge=0)
    """Tokens generated."""
    cached: float | None = Field(default=None, ge=0)
    """Prompt tokens that the endpoint had cached; null: as prompt."""
    batch_factor: float = Field(default=0.5, ge=0)
    """Price of imported results of a batch, as a share of the full price."""


class Prompts(Section):
    """Prompts of one's own, in place of those that ship (docs/prompts.md)."""

    folder: str | None = None
    """Folder, relative to params.yaml, of ROOM/NAME.txt files; null: the prompts that ship."""


class Budget(Section):
    """The cap of a run. It holds for everything spent under the ledger's name, over any number of restarts."""

    ledger: str = "default"
    """A new name starts from zero."""
    dollars: float | None = Field(default=None, ge=0)
    """null: no cap."""
    tokens: int | None = Field(default=None, ge=0)
    """Sent and generated; null: no cap."""
    confirm_above_dollars: float | None = Field(default=None, ge=0)
    """A dearer `vignette repro` needs --yes."""
