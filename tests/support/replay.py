"""An OpenAI-compatible server on loopback that answers with recorded replies, and lists the requests that have none."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


def recorded(cassette: Path) -> list[dict[str, Any]]:
    """The lines of a cassette: requests and replies as `vignette store export` writes them."""
    with gzip.open(cassette, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _key(request: dict[str, Any]) -> str:
    return json.dumps(request, sort_keys=True)


@dataclass
class Replay:
    """A running server. ``unplanned``: the requests that no recorded reply answers."""

    base_url: str
    replies: dict[str, dict[str, Any]]
    unplanned: list[dict[str, Any]] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)

    def reply(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The recorded completion for a request; None, and the request is noted, where there is none."""
        if request["messages"][0]["content"] == "Reply with the word: ready":  # who answers? Not kept with replies
            message = {"role": "assistant", "content": "ready"}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            model = request["model"]
            return {"id": "greeting", "object": "chat.completion", "created": 1, "model": model, "choices": choices}
        key = _key(request)
        if key not in self.replies:
            self.unplanned.append(request)
            return None
        self.answered.add(key)
        return self.replies[key]

    def stale(self) -> list[str]:
        """Recorded replies that nothing asked for, by the start of the last message of their request."""
        return [key for key in self.replies if key not in self.answered]


@contextmanager
def replaying(cassette: Path, owner: str) -> Iterator[Replay]:
    """Serve the replies of a cassette."""
    replay = Replay("", {_key(line["request"]): line["reply"] for line in recorded(cassette)})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            self._send(200, {"id": name, "object": "model", "created": 1, "owned_by": owner})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found = replay.reply(json.loads(body))
            error = {"error": {"message": "no recorded reply", "type": "invalid_request_error"}}
            self._send(400 if found is None else 200, found or error)

        def _send(self, status: int, content: dict[str, Any]) -> None:
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    replay.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield replay
    finally:
        server.shutdown()
        server.server_close()
