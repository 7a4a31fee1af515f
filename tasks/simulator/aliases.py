"""Aliases of the simulator's models.

Hosted endpoints have aliases of models: ``gpt-4o`` may name another version tomorrow. The alias file is JSON,
``{"judge": "vignette-judge@2"}``, and is reread when it changes, so that the model behind a name can be replaced while
the server runs. The part after ``@`` is a version that appears in the replies; the rules are the same under each.
"""

import json
from pathlib import Path
from typing import Any

from tasks.simulator.completions import Rejected, chat_completion, model_entry


class Aliases:
    """Aliases read from ``path``; no aliases without a path."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._read: tuple[int, dict[str, str]] = (0, {})

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a chat request with the model that its alias points to; the reply names that model."""
        signed = self._behind(str(body.get("model"))) if isinstance(body, dict) else None  # rejected below
        if signed is None:
            return chat_completion(body)
        return {**chat_completion({**body, "model": signed.split("@")[0]}), "model": signed}

    def entry(self, name: str) -> dict[str, Any]:
        """Return the body of ``GET /v1/models/{name}``; raises Rejected for an unknown name."""
        signed = self._behind(name)
        return model_entry(name) if signed is None else {**model_entry(signed.split("@")[0]), "id": name}

    def _behind(self, name: str) -> str | None:
        if self._path is None:
            return None
        changed = self._path.stat().st_mtime_ns
        if changed != self._read[0]:
            try:
                found = {str(alias): str(signed) for alias, signed in json.loads(self._path.read_text("utf-8")).items()}
            except (ValueError, AttributeError) as error:
                raise Rejected(500, "bad_aliases", f"{self._path}: not a JSON object of aliases ({error})") from error
            self._read = (changed, found)
        return self._read[1].get(name)
