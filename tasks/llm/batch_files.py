"""The files of OpenAI's Batch API: one line of JSON a request, one a reply, in no set order."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tasks.llm.completions import Completion, read_completion
from tasks.llm.failures import SendFailure
from tasks.llm.requests import Request, to_bytes

MAX_REQUESTS = 50_000
"""Requests in a batch, as documented."""

MAX_BYTES = 200_000_000
"""Size of its file, as documented (200 MB)."""

PATH = "/v1/chat/completions"


@dataclass(frozen=True)
class Result:
    """The result of one request of a batch: body and completion, or the reason and kind of its failure."""

    key: bytes
    body: str = ""
    completion: Completion | None = None
    reason: str = ""
    kind: str = "rejected"  # as in SendFailure

    @property
    def again(self) -> bool:
        """Whether asking again may help."""
        return self.kind != "rejected"


def request_line(request: Request) -> bytes:
    """A request as a line of a batch file; the line holds the request's own bytes."""
    head = f'{{"custom_id":"{request.key.hex()}","method":"POST","url":"{PATH}","body":'
    return head.encode() + request.content + b"}\n"


def split(
    requests: Iterable[Request], max_requests: int = MAX_REQUESTS, max_bytes: int = MAX_BYTES
) -> Iterator[tuple[list[Request], bytes]]:
    """Group requests into files within the limits: the requests of each and its bytes."""
    group: list[Request] = []
    lines: list[bytes] = []
    size = 0
    for request in requests:
        line = request_line(request)
        if group and (len(group) == max_requests or size + len(line) > max_bytes):
            yield group, b"".join(lines)
            group, lines, size = [], [], 0
        group.append(request)
        lines.append(line)
        size += len(line)
    if group:
        yield group, b"".join(lines)


def read_requests(text: str) -> dict[bytes, bytes]:
    """The canonical bytes of each request of a batch file, by key."""
    found = {}
    for line in text.splitlines():
        loaded = json.loads(line)
        found[bytes.fromhex(loaded["custom_id"])] = to_bytes(loaded["body"])
    return found


def read_results(text: str) -> Iterator[Result]:
    """The results in an output or error file."""
    for line in text.splitlines():
        if line.strip():
            loaded = json.loads(line)
            yield _result(bytes.fromhex(loaded["custom_id"]), loaded)


def _result(key: bytes, loaded: dict[str, object]) -> Result:
    response, error = loaded.get("response"), loaded.get("error")
    if isinstance(response, dict):
        status, body = int(response.get("status_code") or 0), response.get("body")
        if status == 200:
            text = json.dumps(body, ensure_ascii=False)
            try:
                return Result(key, text, read_completion(text))
            except SendFailure as failure:
                return Result(key, reason=failure.reason, kind=failure.kind)
        message = body.get("error", body) if isinstance(body, dict) else body
        told = message.get("message") if isinstance(message, dict) else message
        kind = "lost" if status in (408, 409, 429) or status >= 500 else "rejected"
        return Result(key, reason=f"HTTP {status}: {told}", kind=kind)
    code = error.get("code") if isinstance(error, dict) else None
    return Result(key, reason=f"batch: {code or error}", kind="lost")  # expired or cancelled, in the documented cases
