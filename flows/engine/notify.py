"""Notifies people of an outcome of the watch, by a command or a webhook."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import httpx

from schemas.params.watch import Notify

TIMEOUT_S = 30


def notify(params: Notify, outcome: Mapping[str, Any]) -> list[str]:
    """Send ``outcome`` (its key ``state`` decides whether) as JSON; returns what failed, without the address.

    A failed notification does not fail the round.
    """
    if outcome["state"] not in params.outcomes:
        return []
    body, problems = json.dumps(outcome), []
    if params.command:
        problems += _run(params.command, body)
    if params.webhook_env:
        problems += _post(params.webhook_env, body)
    for problem in problems:
        print(f"watch: not notified: {problem}", file=sys.stderr)
    return problems


def _run(command: list[str], body: str) -> list[str]:
    try:
        subprocess.run(command, input=body, text=True, check=True, timeout=TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        return [f"{command[0]}: {error}"]
    return []


def _post(variable: str, body: str) -> list[str]:
    address = os.environ.get(variable)
    if not address:
        return [f"watch.notify.webhook_env names {variable}, which is not set"]
    try:
        answered = httpx.post(address, content=body, headers={"Content-Type": "application/json"}, timeout=TIMEOUT_S)
    except httpx.HTTPError as error:
        return [f"the address in {variable}: {type(error).__name__}"]
    return [] if answered.is_success else [f"the address in {variable} answered {answered.status_code}"]
