"""An OpenAI-compatible server on loopback that answers with recorded replies, and lists the requests that have none."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse

from flows.lineage.recorded import read_replies
from tests.support.hosted import completion, hosted

GREETING = "Reply with the word: ready"
"""The request by which the client learns the answering model; it is not kept with the replies."""


@dataclass
class Replay:
    """A running server. ``unplanned``: the requests that no recorded reply answers."""

    replies: dict[str, dict[str, Any]]
    base_url: str = ""
    unplanned: list[dict[str, Any]] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)

    def reply(self, request: dict[str, Any], _: int) -> Any:
        """The recorded completion for a request; an error, and the request is noted, if there is none."""
        if request["messages"][0]["content"] == GREETING:
            return completion("ready", request)
        key = _key(request)
        if key not in self.replies:
            self.unplanned.append(request)
            return JSONResponse({"error": {"message": "no recorded reply", "type": "invalid_request_error"}}, 400)
        self.answered.add(key)
        return self.replies[key]

    def stale(self) -> list[str]:
        """The recorded requests that were not made."""
        return [key for key in self.replies if key not in self.answered]


@contextmanager
def replaying(cassette: Path, owner: str) -> Iterator[Replay]:
    """Serve the replies of a cassette."""
    replay = Replay({_key(line["request"]): line["reply"] for line in read_replies(cassette)})
    with hosted(replay.reply) as server:
        server.model_fields = {"owned_by": owner, "created": 1}
        replay.base_url = server.base_url
        yield replay


def _key(request: dict[str, Any]) -> str:
    return json.dumps(request, sort_keys=True)
