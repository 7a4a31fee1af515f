"""Parse the judge's prompts: numbered claims, facts with ids, diagnoses with likelihoods."""

import re

from tasks.simulator.request import ChatRequest

_NUMBERED = re.compile(r"^\[?(\d+)[.\]]\s*(.*)$")
_FACT = re.compile(r"^(F\d+):\s*(.*)$")


def numbered(block: str) -> list[tuple[int, str]]:
    """Return the lines of the form ``3. text`` or ``[3] text``."""
    matches = (_NUMBERED.match(line.strip()) for line in block.split("\n"))
    return [(int(match[1]), match[2]) for match in matches if match]


def facts(request: ChatRequest) -> dict[str, str]:
    """Return the facts by id."""
    matches = (_FACT.match(line.strip()) for line in request.tag("facts").split("\n"))
    return {match[1]: match[2] for match in matches if match}


def differential(request: ChatRequest) -> list[tuple[str, str]]:
    """Return the (diagnosis, likelihood) pairs in order."""
    lines = (line.rsplit(":", 1) for line in request.tag("differential").split("\n") if ":" in line)
    return [(name.strip(), likelihood.strip()) for name, likelihood in lines]
