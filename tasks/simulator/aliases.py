"""Names under which the endpoint serves its models, as hosted endpoints do: ``gpt-4o`` is what they say it is today.

A file of aliases, ``{"judge": "vignette-judge@2"}`` as JSON, is read again when it changes, so that the model behind
a name can be exchanged while the endpoint runs. What stands after the ``@`` is a version that replies are signed with;
the rules are the same under any version.
"""

import json
from pathlib import Path
from typing import Any

from tasks.simulator.completions import Rejected, chat_completion, model_entry


class Aliases:
    """The aliases of ``path``; without a path there are none."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._read: tuple[int, dict[str, str]] = (0, {})

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a chat request by the model behind the name it asks for; the reply is signed with what answered."""
        signed = self._behind(str(body.get("model"))) if isinstance(body, dict) else None  # refused below
        if signed is None:
            return chat_completion(body)
        return {**chat_completion({**body, "model": signed.split("@")[0]}), "model": signed}

    def entry(self, name: str) -> dict[str, Any]:
        """The body of ``GET /v1/models/{name}``; raises Rejected for what is neither a model nor an alias."""
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
                raise Rejected(500, "bad_aliases", f"{self._path}: not a JSON object of names ({error})") from error
            self._read = (changed, found)
        return self._read[1].get(name)
