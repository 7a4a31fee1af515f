"""Recognise descriptors of symptoms in their various wordings: "when climbing stairs" states "during exercise"."""

import re
from functools import lru_cache

from tasks.simulator.clinical.resources import load
from tasks.simulator.clinical.similarity import bag, weight

SEVERITY = ("light", "mild", "severe")


@lru_cache(maxsize=1)
def known() -> dict[str, re.Pattern[str]]:
    """Patterns of the wordings of each descriptor."""
    return {str(name): re.compile(str(pattern), re.IGNORECASE) for name, pattern in load("descriptors").items()}


def says(text: str, descriptor: str) -> bool:
    """Whether ``text`` states ``descriptor``; for an unknown descriptor half of its content words must occur."""
    pattern = known().get(descriptor.strip().lower())
    if pattern is not None:
        return pattern.search(text) is not None
    wanted = {form for form in bag(descriptor) if weight(form) == 1.0 and not form.startswith("@")}
    return not wanted or len(wanted & set(bag(text))) >= 0.5 * len(wanted)
