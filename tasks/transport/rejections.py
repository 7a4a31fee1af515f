"""Requests that an endpoint rejects: because of their content, or because of a setting that every request shares.

A rejection for its content fails one call. One for a setting would repeat for each call, so it stops the stage and
names the setting.
"""

import re

from schemas.params.llm import Role, by_hand
from tasks.llm.replies import SendFailure

REPEATS = 20
"""Rejections in a row for the same reason, without a success between them, that stop the stage."""

REFUSALS = re.compile(
    r"unsupported|not supported|n.t support|unknown|unrecognized|not permitted|extra_forbidden|unavailable|invalid"
)


def of_structure(failure: SendFailure) -> bool:
    """Whether an endpoint rejects the way in which a structured reply was asked for."""
    if failure.kind != "rejected" or failure.is_of_one_text:
        return False
    return failure.param.startswith("response_format") or bool(
        re.search(r"response_format|json_schema|json_object|structured output|guided|grammar", failure.reason)
    )


def setting_at_fault(failure: SendFailure, role: Role) -> str | None:
    """The setting of a role that a rejection names, with the value to try; None where it names none."""
    said = failure.reason.lower()
    if of_structure(failure):
        return f"structured: auto (or json_object, or prompt; {by_hand('structured=prompt')})"
    settings = _settings(role)
    if failure.param in settings:
        return settings[failure.param]
    if failure.param or not REFUSALS.search(said):
        return None
    return next((setting for field, setting in settings.items() if re.search(rf"\b{field}\b", said)), None)


def _settings(role: Role) -> dict[str, str]:
    """The setting to change for each field of a request's body."""
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[role.max_tokens_field]
    limits = f"max_tokens_field: {other} (or a smaller max_tokens; {by_hand(f'max_tokens_field={other}')})"
    return {
        "max_tokens": limits,
        "max_completion_tokens": limits,
        "temperature": f"temperature: null (or the value that the model accepts; {by_hand('temperature=null')})",
        "seed": f"send_seed: false ({by_hand('send_seed=false')})",
        **{name: f"extra_body without {name!r}" for name in role.extra_body},
    }
