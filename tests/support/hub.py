"""A local stand-in for the HTTP API of the Hugging Face hub: creates repositories, takes uploads and commits."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TOKEN = "hf_0123456789"


@dataclass
class Hub:
    """State of the hub: files of the latest commit by path, large objects by digest, requests in order."""

    address: str = ""
    visibility: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)


@contextmanager
def local_hub() -> Iterator[Hub]:
    """A hub on loopback; parquet files go to large-file storage, as on the real one."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hub.tokens.add(self.headers.get("Authorization"))
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self.reply(401, {"error": "Invalid username or password."})
            else:
                self.reply(200, answer(hub, self.path, self.body()))

        def do_PUT(self) -> None:
            hub.objects[self.path.rsplit("/", 1)[1]] = self.body()
            self.reply(200, {})

        def body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def reply(self, status: int, content: dict[str, Any]) -> None:
            encoded = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def answer(hub: Hub, path: str, body: bytes) -> dict[str, Any]:
    """The reply to a request of `huggingface_hub`, after changing the state of the hub."""
    if path == "/api/repos/create":
        asked = json.loads(body)
        name = f"{asked['organization']}/{asked['name']}"
        hub.visibility.setdefault(name, asked.get("visibility", "public"))
        return {"url": f"{hub.address}/datasets/{name}", "name": name}
    if path == "/api/validate-yaml":
        return {"errors": [], "warnings": []}
    if "/preupload/" in path:
        return {"files": [upload_mode(file["path"]) for file in json.loads(body)["files"]]}
    if path.endswith("/info/lfs/objects/batch"):
        return {"transfer": "basic", "objects": [upload(hub, one) for one in json.loads(body)["objects"]]}
    assert "/commit/" in path, path
    commit(hub, [json.loads(line) for line in body.splitlines()])
    return {"commitUrl": f"{hub.address}{path.removeprefix('/api')}".replace("/main", "/c0ffee"), "commitOid": "c0ffee"}


def upload_mode(path: str) -> dict[str, Any]:
    mode = "lfs" if path.endswith(".parquet") else "regular"
    return {"path": path, "uploadMode": mode, "shouldIgnore": False}


def upload(hub: Hub, one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "actions": {"upload": {"href": f"{hub.address}/objects/{one['oid']}"}}}


def commit(hub: Hub, lines: list[dict[str, Any]]) -> None:
    for line in lines:
        value = line["value"]
        if line["key"] == "header":
            hub.messages.append(value["summary"])
        elif line["key"] == "file":
            hub.files[value["path"]] = base64.b64decode(value["content"])
        else:
            hub.files[value["path"]] = hub.objects[value["oid"]]
