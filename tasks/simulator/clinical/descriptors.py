"""Recognise descriptors of symptoms in their various wordings: "when climbing stairs" states "during exercise"."""

import re

from tasks.domains.in_use import domain_cache, domain_data
from tasks.simulator.clinical.similarity import bag, weight

SEVERITY = ("light", "mild", "severe")


@domain_cache(maxsize=1)
def known() -> dict[str, re.Pattern[str]]:
    """Patterns of the wordings of each descriptor."""
    return {
        str(name): re.compile(str(pattern), re.IGNORECASE)
        for name, pattern in domain_data("lexicon/descriptors").items()
    }


def says(text: str, descriptor: str) -> bool:
    """Whether ``text`` states ``descriptor``; for an unknown descriptor half of its content words must occur."""
    pattern = known().get(descriptor.strip().lower())
    if pattern is not None:
        return pattern.search(text) is not None
    wanted = {form for form in bag(descriptor) if weight(form) == 1.0 and not form.startswith("@")}
    return not wanted or len(wanted & set(bag(text))) >= 0.5 * len(wanted)
