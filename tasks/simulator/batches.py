"""What the simulator keeps in files: uploads and batches, in a folder shared by all workers, and model aliases.

Batches follow OpenAI's Batch API: the input is a JSONL file of requests, the output a file of replies and a file of
errors. A batch advances by a slice at each status request, so that it passes through all states that clients must
handle.

Hosted endpoints have aliases of models: ``gpt-4o`` may name another version tomorrow. The alias file is JSON,
``{"judge": "vignette-judge@2"}``, and is reread when it changes, so that the model behind a name can be replaced while
the server runs. The part after ``@`` is a version that appears in the replies; the rules are the same under each.
"""

import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock

from tasks.simulator.completions import Rejected, chat_completion, error_body, model_entry

MAX_REQUESTS = 50_000
MAX_BYTES = 200_000_000
SLICE = 2_000
"""Number of requests answered at each status request."""


Complete = Callable[[dict[str, Any]], dict[str, Any]]
"""Maps the body of a chat request to the body of its reply; raises Rejected."""


class BatchFolder:
    """Files and batches stored in ``folder``; ``complete`` answers the requests."""

    def __init__(self, folder: Path, complete: Complete = chat_completion) -> None:
        self.folder, self._complete = folder, complete
        self.lock = FileLock(folder / "lock")

    def add_file(self, content: bytes, purpose: str) -> dict[str, Any]:
        """Store an uploaded file and return its description. Raises Rejected if it is too large."""
        if len(content) > MAX_BYTES:
            raise Rejected(413, "file_too_large", f"{len(content)} bytes; at most {MAX_BYTES} are allowed")
        name = f"file-{uuid.uuid4().hex}"
        (self.folder / name).write_bytes(content)
        return {"id": name, "object": "file", "bytes": len(content), "purpose": purpose, "filename": "batch.jsonl"}

    def read_file(self, name: str) -> bytes:
        """Return the content of a file. Raises Rejected for an unknown file."""
        return self._path(name, "file").read_bytes()

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        """Create a batch for an uploaded file. Raises Rejected if the file exceeds a documented limit."""
        lines = self.read_file(str(body.get("input_file_id"))).splitlines()
        if len(lines) > MAX_REQUESTS:
            raise Rejected(400, "too_many_requests", f"{len(lines)} requests; at most {MAX_REQUESTS} are allowed")
        batch = {
            "id": f"batch_{uuid.uuid4().hex}",
            "object": "batch",
            "endpoint": body.get("endpoint"),
            "input_file_id": body["input_file_id"],
            "completion_window": body.get("completion_window"),
            "status": "validating",
            "created_at": int(time.time()),
            "metadata": body.get("metadata"),
            "output_file_id": None,
            "error_file_id": None,
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }
        self._save(batch)
        return batch

    def all(self) -> list[dict[str, Any]]:
        """Return all batches, newest first."""
        batches = [json.loads(path.read_text(encoding="utf-8")) for path in self.folder.glob("batch_*.json")]
        return sorted(batches, key=lambda batch: batch["created_at"], reverse=True)

    def advance(self, name: str) -> dict[str, Any]:
        """Answer the next slice of a batch and return its status."""
        with self.lock:
            batch: dict[str, Any] = json.loads(self._path(f"{name}.json", "batch").read_text(encoding="utf-8"))
            if batch["status"] == "validating":
                batch["status"] = "in_progress"
            elif batch["status"] == "in_progress":
                self._answer_slice(batch)
            self._save(batch)
            return batch

    def _answer_slice(self, batch: dict[str, Any]) -> None:
        counts = batch["request_counts"]
        done = counts["completed"] + counts["failed"]
        lines = self.read_file(batch["input_file_id"]).splitlines()
        for line in lines[done : done + SLICE]:
            request = json.loads(line)
            status, body = _answer(self._complete, request["body"])
            kind = "output" if status == 200 else "error"
            batch[f"{kind}_file_id"] = batch[f"{kind}_file_id"] or f"file-{kind}-{batch['id']}"
            counts["completed" if status == 200 else "failed"] += 1
            entry = {
                "id": f"batch_req_{done}",
                "custom_id": request["custom_id"],
                "response": {"status_code": status, "request_id": f"req_{done}", "body": body},
                "error": None,
            }
            with (self.folder / batch[f"{kind}_file_id"]).open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        if done + SLICE >= len(lines):
            batch["status"] = "completed"

    def _path(self, name: str, kind: str) -> Path:
        path = self.folder / name
        if Path(name).name != name or not path.is_file():
            raise Rejected(404, "not_found", f"unknown {kind} {name!r}")
        return path

    def _save(self, batch: dict[str, Any]) -> None:
        path = self.folder / f"{batch['id']}.json"
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(batch), encoding="utf-8")
        partial.replace(path)


def _answer(complete: Complete, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    try:
        return 200, complete(body)
    except Rejected as error:
        return error.status, error_body(error.code, str(error))


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
