"""Asks a served model who it is."""

from typing import Any

from schemas.errors import EndpointError
from schemas.params.llm import Role, RoleName
from tasks.llm.calls import Call, Message
from tasks.llm.completions import Completion
from tasks.llm.direct import Direct
from tasks.llm.endpoint import Endpoint, SendFailure
from tasks.llm.fingerprint import embedded_identity, served_identity
from tasks.llm.requests import make_request

GREETING = Call("identity", (Message("user", "Reply with the word: ready"),))


async def identify(name: RoleName, role: Role, direct: Direct) -> dict[str, str]:
    """The identity of the model that answers ``role`` now. Raises EndpointError when the endpoint does not answer."""
    if role.is_embedded:
        return embedded_identity(role)
    try:
        entry = await model_entry(direct.endpoint, role.model)
        answered = await greet(role, direct)
    except SendFailure as failure:
        raise EndpointError(f"role {name}: {direct.endpoint.address} does not answer: {failure.reason}") from failure
    return served_identity(role, entry, answered.model, answered.system_fingerprint)


async def model_entry(endpoint: Endpoint, model: str) -> dict[str, Any]:
    """What the endpoint's list of models says of ``model``; empty where it keeps no such list. Raises SendFailure."""
    try:
        return await endpoint.get(f"/models/{model}")
    except SendFailure as failure:
        if failure.status not in (404, 405, 501):
            raise
    try:
        listed = (await endpoint.get("/models")).get("data") or []
    except SendFailure as failure:
        if failure.status not in (404, 405, 501):
            raise
        return {}
    return next((dict(entry) for entry in listed if entry.get("id") == model), {})


async def greet(role: Role, direct: Direct) -> Completion:
    """The reply to a short message, for what it says of the model that wrote it. Raises SendFailure."""
    return (await direct.send(make_request(GREETING, _short(role), "identity")))[1]


def _short(role: Role) -> Role:
    return role.model_copy(update={"max_tokens": min(role.max_tokens or 64, 64)})
