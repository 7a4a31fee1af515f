"""Asks a served model for its identity, its replies to the canary prompts, and how it takes structured requests."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from schemas.errors import EndpointError
from schemas.params.llm import Role, RoleName, Structured, by_hand
from tasks.llm.calls import Call, Message, Reply
from tasks.llm.replies import Completion, SendFailure
from tasks.llm.requests import Request, make_request
from tasks.transport.endpoint import NOT_SENT_WITHOUT_KEY, Endpoint
from tasks.transport.epochs import PROMPTS, SAMPLES, Replies
from tasks.transport.fingerprint import served_identity
from tasks.transport.rejections import of_structure, setting_at_fault

GREETING = Call("identity", (Message("user", "Reply with the word: ready"),))
GREETING_TOKENS = 64
PROBE_CALLS = len(PROMPTS) * SAMPLES + 3
"""Most calls that tell which model answers: the canary prompts, a greeting before and after, a structured question."""

Send = Callable[[Request], Awaitable[Completion]]
"""Sends a request and books it. Raises SendFailure, EndpointError."""


class Finding(Reply):
    """One symptom and where the sentence mentions it."""

    symptom: str
    phrases: list[str]
    present: bool


class Findings(Reply):
    """The symptoms that a sentence mentions."""

    findings: list[Finding]


STRUCTURED_GREETING = Call(
    "identity", (Message("user", "Which symptoms does this sentence mention? He coughs but has no fever."),), Findings
)


@dataclass(frozen=True)
class Sighting:
    """Observations of a served model by a probe."""

    entry: dict[str, Any]  # of the list of models; empty where it is not shown
    greeting: Completion
    canaries: Replies = field(default_factory=dict)
    structured: Structured | None = None  # how it takes structured requests, where that is not the first way tried

    def identity(self, role: Role) -> dict[str, str]:
        """The identity in the fields that ``role`` counts."""
        return served_identity(role, self.entry, self.greeting.model, self.greeting.system_fingerprint)


async def greet(name: RoleName, role: Role, endpoint: Endpoint, send: Send) -> Sighting:
    """Look at the model that answers ``role`` now. Raises EndpointError when the endpoint does not answer."""
    short = role.model_copy(update={"max_tokens": min(role.max_tokens or GREETING_TOKENS, GREETING_TOKENS)})
    try:
        entry = await _model_entry(endpoint, role.model)
        return Sighting(entry, await send(make_request(GREETING, short, "identity")))
    except SendFailure as failure:
        raise EndpointError(_explain(name, role, endpoint, failure)) from failure


async def probe(name: RoleName, role: Role, endpoint: Endpoint, send: Send) -> Sighting:
    """Greet the model, and ask it the canary prompts and one structured question. Raises EndpointError."""
    seen = await greet(name, role, endpoint, send)
    try:
        canaries, structured = await asyncio.gather(_canary_replies(role, send), _accepted_way(role, send))
    except SendFailure as failure:
        raise EndpointError(_explain(name, role, endpoint, failure)) from failure
    empty = sum(not reply.strip() for replies in canaries.values() for reply in replies)
    if empty:
        raise EndpointError(
            f"role {name}: {role.model} gave an empty reply to {empty} of {len(PROMPTS) * SAMPLES} canary prompts; a "
            f"model that reasons first needs more tokens: raise roles.{name}.canary_tokens (now {role.canary_tokens})"
            f", {by_hand('canary_tokens=2000')}"
        )
    return Sighting(seen.entry, seen.greeting, canaries, structured)


async def _model_entry(endpoint: Endpoint, model: str) -> dict[str, Any]:
    """The entry of ``model`` in the endpoint's list of models; empty where it shows none, as its replies name it too.

    Raises SendFailure for a redirect.
    """
    if entry := await _if_shown(endpoint, f"/models/{model}"):
        return entry
    listed = (await _if_shown(endpoint, "/models")).get("data")
    entries = listed if isinstance(listed, list) else []
    return next((dict(entry) for entry in entries if isinstance(entry, dict) and entry.get("id") == model), {})


async def _if_shown(endpoint: Endpoint, path: str) -> dict[str, Any]:
    try:
        return await endpoint.get(path)
    except SendFailure as failure:
        if failure.status is not None and failure.status < 400:
            raise
        return {}


async def _canary_replies(role: Role, send: Send) -> Replies:
    """The replies to each prompt, at temperature 0 where the model accepts it, else at the role's own."""
    steady = {"max_tokens": role.canary_tokens, "temperature": None if role.temperature is None else 0.0}
    try:
        return await _ask_canaries(role.model_copy(update=steady), send)
    except SendFailure as failure:
        if failure.kind != "rejected" or not (setting_at_fault(failure, role) or "").startswith("temperature"):
            raise
        return await _ask_canaries(role.model_copy(update={"max_tokens": role.canary_tokens}), send)


async def _ask_canaries(role: Role, send: Send) -> Replies:
    async def ask(prompt: str, sample: int) -> str:
        return (
            await send(make_request(Call("canary", (Message("user", prompt),), sample=sample), role, "canary"))
        ).text

    first = await ask(PROMPTS[0], 0)  # alone: a rejection concerns all of them
    rest = [(prompt, sample) for prompt in PROMPTS for sample in range(SAMPLES)][1:]
    replies = [first, *await asyncio.gather(*(ask(prompt, sample) for prompt, sample in rest))]
    return {prompt: replies[n * SAMPLES : (n + 1) * SAMPLES] for n, prompt in enumerate(PROMPTS)}


async def _accepted_way(role: Role, send: Send) -> Structured | None:
    """The first way of asking for structure that the endpoint accepts; None where it is the first that is tried."""
    ways = role.structured_ways
    if len(ways) == 1:
        return None
    short = role.model_copy(update={"max_tokens": role.canary_tokens})
    for way in ways[:-1]:
        try:
            await send(make_request(STRUCTURED_GREETING, short, "identity", way))
            return None if way == ways[0] else way
        except SendFailure as failure:
            if not of_structure(failure):
                raise
    return ways[-1]


def _explain(name: RoleName, role: Role, endpoint: Endpoint, failure: SendFailure) -> str:
    if failure.code == NOT_SENT_WITHOUT_KEY:
        return f"role {name}: nothing was sent to {endpoint.address}: {failure.reason}"
    if failure.kind != "rejected":
        remedy = "check the address, and that its server runs"
        return f"role {name}: {endpoint.address} does not answer: {failure.reason}; {remedy}"
    setting = setting_at_fault(failure, role)
    change = f"; in params.yaml set roles.{name}.{setting}" if setting else ""
    return f"role {name}: {endpoint.address} rejects the probe: {failure.reason}{change}"
