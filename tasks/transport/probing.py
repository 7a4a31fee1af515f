"""Asks a served model for its identity, its replies to the canary prompts, and how it takes structured requests."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemas.errors import EndpointError
from schemas.params.llm import Role, Structured, by_hand
from tasks.llm.calls import Call, Message, Reply
from tasks.llm.replies import Completion, SendFailure
from tasks.llm.requests import make_request
from tasks.transport.endpoint import NOT_SENT_WITHOUT_KEY, of_structure, setting_at_fault
from tasks.transport.epochs import PROMPTS, SAMPLES, Replies
from tasks.transport.fingerprint import served_identity

if TYPE_CHECKING:
    from tasks.transport.client import Client

GREETING = Call("identity", (Message("user", "Reply with the word: ready"),))
GREETING_TOKENS = 64
MOST_EMPTY = 0.25
"""Share of empty replies to canary prompts above which a model has too few tokens, as where all of one prompt are."""
PROBE_CALLS = len(PROMPTS) * SAMPLES + 3
"""Most calls that tell which model answers: the canary prompts, a greeting before and after, a structured question."""


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


async def greet(client: "Client") -> Sighting:
    """Look at the model that answers a role now. Raises EndpointError when the endpoint does not answer."""
    role = client.role
    short = role.model_copy(update={"max_tokens": min(role.max_tokens or GREETING_TOKENS, GREETING_TOKENS)})
    try:
        entry = await _model_entry(client, role.model)
        return Sighting(entry, await client.send_unkept(make_request(GREETING, short, "identity")))
    except SendFailure as failure:
        raise _not_answered(client, failure) from failure


async def look_up(client: "Client") -> Sighting:
    """Greet the model, and ask it the canary prompts and one structured question. Raises EndpointError."""
    seen, role = await greet(client), client.role
    try:
        canaries, structured = await asyncio.gather(_canary_replies(client), _accepted_way(client))
    except SendFailure as failure:
        raise _not_answered(client, failure) from failure
    found = [[not reply.strip() for reply in replies] for replies in canaries.values()]
    empty = sum(map(sum, found))
    if any(map(all, found)) or empty > MOST_EMPTY * len(PROMPTS) * SAMPLES:  # not of an endpoint that fails at times
        raise EndpointError(
            f"role {client.name}: {role.model} gave an empty reply to {empty} of {len(PROMPTS) * SAMPLES} canary "
            "prompts; a model that reasons first needs more tokens: raise "
            f"roles.{client.name}.canary_tokens (now {role.canary_tokens}), {by_hand('canary_tokens=2000')}"
        )
    return Sighting(seen.entry, seen.greeting, canaries, structured)


async def _model_entry(client: "Client", model: str) -> dict[str, Any]:
    """The entry of ``model`` in the endpoint's list of models; empty where it shows none, as its replies name it too.

    Raises SendFailure for a redirect, and where nothing answers.
    """
    if entry := await _if_shown(client, f"/models/{model}"):
        return entry
    listed = (await _if_shown(client, "/models")).get("data")
    entries = listed if isinstance(listed, list) else []
    return next((dict(entry) for entry in entries if isinstance(entry, dict) and entry.get("id") == model), {})


async def _if_shown(client: "Client", path: str) -> dict[str, Any]:
    try:
        return await client.get(path)
    except SendFailure as failure:
        answered = failure.status is not None or failure.kind == "garbled"  # no address is tried where nothing listens
        if not answered or (failure.status is not None and failure.status < 400):
            raise
        return {}


async def _canary_replies(client: "Client") -> Replies:
    """The replies to each prompt, at temperature 0 where the model accepts it, else at the role's own."""
    role = client.role
    steady = {"max_tokens": role.canary_tokens, "temperature": None if role.temperature is None else 0.0}
    try:
        return await _ask_canaries(client, role.model_copy(update=steady))
    except SendFailure as failure:
        if failure.kind != "rejected" or not (setting_at_fault(failure, role) or "").startswith("temperature"):
            raise
        return await _ask_canaries(client, role.model_copy(update={"max_tokens": role.canary_tokens}))


async def _ask_canaries(client: "Client", role: Role) -> Replies:
    async def ask(prompt: str, sample: int) -> str:
        call = Call("canary", (Message("user", prompt),), sample=sample)
        return (await client.send_unkept(make_request(call, role, "canary"))).text

    first = await ask(PROMPTS[0], 0)  # alone: a rejection concerns all of them
    rest = [(prompt, sample) for prompt in PROMPTS for sample in range(SAMPLES)][1:]
    replies = [first, *await asyncio.gather(*(ask(prompt, sample) for prompt, sample in rest))]
    return {prompt: replies[n * SAMPLES : (n + 1) * SAMPLES] for n, prompt in enumerate(PROMPTS)}


async def _accepted_way(client: "Client") -> Structured | None:
    """The first way of asking for structure that the endpoint accepts; None where it is the first that is tried."""
    role = client.role
    ways = role.structured_ways
    if len(ways) == 1:
        return None
    short = role.model_copy(update={"max_tokens": role.canary_tokens})
    for way in ways[:-1]:
        try:
            await client.send_unkept(make_request(STRUCTURED_GREETING, short, "identity", way))
            return None if way == ways[0] else way
        except SendFailure as failure:
            if not of_structure(failure):
                raise
    return ways[-1]


def _not_answered(client: "Client", failure: SendFailure) -> EndpointError:
    name, address = client.name, client.address
    if failure.code == NOT_SENT_WITHOUT_KEY:
        return EndpointError(f"role {name}: nothing was sent to {address}: {failure.reason}")
    if failure.kind != "rejected":
        said, remedy = "does not answer", "check the address, and that its server runs"
        if failure.kind == "busy":
            said, remedy = "takes no more requests", f"wait, or lower rpm and concurrency ({by_hand('rpm=N')})"
        return EndpointError(f"role {name}: {address} {said}: {failure.reason}; {remedy}")
    setting = setting_at_fault(failure, client.role)
    change = f"; in params.yaml set roles.{name}.{setting}" if setting else ""
    return EndpointError(f"role {name}: {address} rejects the probe: {failure.reason}{change}")
