"""Calls and tokens of a stage, estimated before they are paid for.

The best estimate comes from a run with the simulator, which answers the same prompts for free: the response store then
holds every request of each stage.
"""

import json
import zlib
from dataclasses import dataclass
from importlib.resources import files

from schemas.params.llm import Price, RoleName
from tasks.llm.completions import read_completion
from tasks.llm.database import Connection
from tasks.llm.prices import Usage, cost

CHARACTERS_A_TOKEN = 4.0
"""Of English prose, by OpenAI's rule of thumb."""

SAMPLE = 400
"""Requests of a stage that are read to know their mean length."""


@dataclass(frozen=True)
class Estimate:
    """Total requests of a stage to one role: calls, tokens sent, tokens received."""

    role: RoleName
    calls: int
    prompt_tokens: int
    completion_tokens: int

    def dollars(self, price: Price | None, *, batch: bool = False) -> float | None:
        """Its cost; None without a price."""
        return None if price is None else cost(price, Usage(self.prompt_tokens, self.completion_tokens), batch=batch)

    def times(self, factor: float) -> "Estimate":
        """The same for so many times the records."""
        counts = (self.calls, self.prompt_tokens, self.completion_tokens)
        return Estimate(self.role, *(round(factor * count) for count in counts))


def tokens(text: str) -> int:
    """About how many tokens a text has."""
    return round(len(text) / CHARACTERS_A_TOKEN)


def template_tokens(package: str, *names: str) -> int:
    """About how many tokens the prompt files ``prompts/<name>.txt`` of a package have before they are filled."""
    folder = files(package).joinpath("prompts")
    return sum(tokens(folder.joinpath(f"{name}.txt").read_text(encoding="utf-8")) for name in names)


def rehearsed(connection: Connection) -> dict[str, list[Estimate]]:
    """The use of each stage in its last run, with any model; tokens are counted from the texts' lengths."""
    found: dict[str, list[Estimate]] = {}
    latest = connection.execute(
        "SELECT stage, role, identity, COUNT(*), MAX(id) FROM responses GROUP BY stage, role, identity ORDER BY MAX(id)"
    ).fetchall()
    chosen = {(stage, role): (identity, calls) for stage, role, identity, calls, _ in latest}
    for (stage, role), (identity, calls) in sorted(chosen.items()):
        rows = connection.execute(
            "SELECT request, reply FROM responses WHERE stage = ? AND role = ? AND identity = ? ORDER BY key LIMIT ?",
            (stage, role, identity, SAMPLE),
        ).fetchall()
        sent = [_prompt_tokens(zlib.decompress(request)) for request, _ in rows]
        received = [tokens(read_completion(zlib.decompress(reply).decode()).text) for _, reply in rows]
        estimate = Estimate(role, calls, calls * sum(sent) // len(rows), calls * sum(received) // len(rows))
        found.setdefault(stage, []).append(estimate)
    return found


def _prompt_tokens(request: bytes) -> int:
    body = json.loads(request)
    format_tokens = tokens(json.dumps(body["response_format"])) if "response_format" in body else 0
    return format_tokens + sum(tokens(message["content"]) + 4 for message in body["messages"])
