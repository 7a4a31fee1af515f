"""The chat-completion request as the rules read it, and the lists that prompts contain."""

import re
from dataclasses import dataclass
from typing import Any

_TASK = re.compile(r"^Task:[ \t]*(.+?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class ChatRequest:
    """Messages, seed and sampling settings of a chat-completion request.

    ``messages`` are (role, text) pairs. ``seed`` is the sample index sent by the client (default 0).
    """

    model: str
    messages: tuple[tuple[str, str], ...]
    seed: int = 0
    temperature: float = 1.0
    max_tokens: int | None = None

    @classmethod
    def from_body(cls, body: dict[str, Any]) -> "ChatRequest":
        """Parse the JSON body of ``POST /v1/chat/completions``."""
        return cls(
            model=str(body.get("model", "")),
            messages=tuple((str(m["role"]), _text(m.get("content"))) for m in body["messages"]),
            seed=int(body.get("seed") or 0),
            temperature=float(1.0 if body.get("temperature") is None else body["temperature"]),
            max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        )

    @property
    def last(self) -> str:
        """The last user message."""
        return next((text for role, text in reversed(self.messages) if role == "user"), "")

    @property
    def task(self) -> str | None:
        """The task named in the ``Task:`` line of the last user message, in lower case."""
        found = _TASK.search(self.last)
        return found.group(1).lower() if found else None

    def tag(self, name: str, default: str | None = None) -> str:
        """Return the text between ``<name>`` and ``</name>`` in the last user message (outermost pair).

        Raises KeyError if the tag is absent and there is no default.
        """
        found = re.search(rf"<{name}>\n?(.*)\n?</{name}>", self.last, re.DOTALL)
        if found is None:
            if default is None:
                raise KeyError(name)
            return default
        return found.group(1).rstrip("\n")


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")
    return content or ""


_NUMBERED = re.compile(r"^[^\S\n]*\[?(\d+)[.\]][^\S\n]*(.*?)[^\S\n]*$", re.MULTILINE)
_NOTE = re.compile(
    r"^<note>\nPatient: [^\n]*\nNote: [^\n]*\nDate: (?P<date>[^\n]*)\n\n(?P<text>.*?)\n</note>$",
    re.MULTILINE | re.DOTALL,
)
_CHOICE = re.compile(r"^([A-E]): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class ChartedNote:
    """A patient's note in a prompt."""

    date: str
    text: str


def read_notes(block: str) -> list[ChartedNote]:
    """Parse the notes block of a prompt; empty for a prompt without notes."""
    return [ChartedNote(**match.groupdict()) for match in _NOTE.finditer(block)]


def numbered(block: str) -> list[tuple[int, str]]:
    """The lines of the form ``3. text`` or ``[3] text``."""
    return [(int(number), text) for number, text in _NUMBERED.findall(block)]


def read_choices(block: str) -> dict[str, str]:
    """Parse answer choices by letter; empty for a prompt without choices."""
    return dict(_CHOICE.findall(block))
