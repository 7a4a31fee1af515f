"""A local server with the HTTP API of the Hugging Face hub: creates repositories, takes uploads and commits."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.hosted import serving

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

    async def post(request: Request) -> Response:
        hub.tokens.add(request.headers.get("Authorization"))
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return JSONResponse({"error": "Invalid username or password."}, 401)
        return JSONResponse(answer(hub, request.url.path, await request.body()))

    async def put(request: Request) -> Response:
        hub.objects[request.path_params["path"].rsplit("/", 1)[1]] = await request.body()
        return JSONResponse({})

    routes = [Route("/{path:path}", post, methods=["POST"]), Route("/{path:path}", put, methods=["PUT"])]
    with serving(Starlette(routes=routes)) as api:
        hub.address = api.removesuffix("/v1")
        yield hub


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
