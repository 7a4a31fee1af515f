"""How many tokens a reply may need, from the length of the text that it is about."""

from math import ceil

SHORT_TOKEN = 3.0
"""Characters of a token in abbreviated text."""
STEP = 256


def tokens_needed(text: str, times: float) -> int:
    """Tokens to allow for a reply that is up to ``times`` as long as ``text``: a generous estimate, in steps of 256."""
    return STEP * ceil(times * len(text) / SHORT_TOKEN / STEP)
