"""Whether a text says of a symptom what a descriptor says: "during exercise" is said by "when climbing stairs"."""

import re
from functools import lru_cache

from tasks.simulator.clinical.resources import load
from tasks.simulator.clinical.similarity import bag, weight

SEVERITY = ("light", "mild", "severe")


@lru_cache(maxsize=1)
def known() -> dict[str, re.Pattern[str]]:
    """The wordings of each descriptor of the lexicon."""
    return {str(name): re.compile(str(pattern), re.IGNORECASE) for name, pattern in load("descriptors").items()}


def says(text: str, descriptor: str) -> bool:
    """Whether ``text`` says ``descriptor``; an unknown descriptor must share half of its telling words."""
    pattern = known().get(descriptor.strip().lower())
    if pattern is not None:
        return pattern.search(text) is not None
    wanted = {form for form in bag(descriptor) if weight(form) == 1.0 and not form.startswith("@")}
    return not wanted or len(wanted & set(bag(text))) >= 0.5 * len(wanted)
