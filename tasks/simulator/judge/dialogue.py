"""Find where the history of a dialogue ends: before examination, results, assessment and plan."""

import json
import re

from tasks.simulator.judge.prompts import numbered
from tasks.simulator.request import ChatRequest

_LATER = re.compile(
    r"physical exam|examine you|take a look at|listen to your (?:heart|lungs)|on (?:your|his|her) exam|vital signs"
    r"|let me (?:check|look|examine)|my impression|my assessment|assessment and plan|show me the"
    r"|i reviewed (?:the|your)|results? of (?:your|the)|here'?s? (?:what|my)",
    re.IGNORECASE,
)


def find_end_of_history(request: ChatRequest) -> str:
    """Return the line before the examination starts; the last line if there is no examination."""
    lines = numbered(request.tag("dialogue"))
    later = [number for number, text in lines if number > 4 and _LATER.search(text)]
    last = later[0] - 1 if later else lines[-1][0] if lines else 0
    return json.dumps({"last_line": last})
