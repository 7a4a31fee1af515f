"""Replies that ship with the project: a model's answers to requests about outside texts, replayed without an endpoint.

A file has a line for each request: the digest of its messages, and the reply. The texts themselves are not in it, and a
prompt that changes no longer finds its reply: the call fails, and counts as unscored.
"""

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from schemas.params.llm import Role
from tasks.llm.ask_all import answer_call
from tasks.llm.calls import Answer, Call
from tasks.llm.replies import Completion, SendFailure


class RecordedAsk:
    """Answers calls from ``replies``, reply by digest, as the model called ``label`` gave them."""

    def __init__(self, label: str, replies: Mapping[str, str]) -> None:
        self.label, self._replies = label, replies
        self._role = Role(base_url="recorded", model=label)
        self.used: set[str] = set()
        """Digests of the requests that were asked."""

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer each call, asking again as the recording did where the first reply was unusable."""
        return [await answer_call(call, "judge", self._role, self._obtain) for call in calls]

    async def _obtain(self, call: Call, _: Role) -> Completion:
        key = digest([(one.role, one.content) for one in call.messages], call.sample)
        self.used.add(key)
        text = self._replies.get(key)
        if text is None:
            raise SendFailure("rejected", "no recorded reply to this request")
        return Completion(text, None, "stop", self.label, None)


def digest(messages: Sequence[tuple[str, str]], sample: int = 0) -> str:
    """The digest of (role, content) messages and the sample index."""
    return hashlib.sha256(json.dumps([list(map(list, messages)), sample]).encode()).hexdigest()[:32]


def read_recorded(file: Path) -> dict[str, str]:
    """Replies by digest."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return {entry["request"]: entry["reply"] for entry in map(json.loads, lines)}
