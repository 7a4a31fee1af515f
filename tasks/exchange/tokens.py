"""Tokens that no span cuts in two, for formats whose unit is the token."""

import itertools
import re

from tasks.exchange.annotated import AnnotatedText

_PIECES = re.compile(r"\w+|[^\w\s]|\s+")


def token_bounds(one: AnnotatedText) -> list[tuple[int, int]]:
    """Bounds of consecutive tokens that cover the whole text: words, marks and white space.

    A token is cut wherever a span begins or ends within it, so that spans of any characters survive.
    """
    cuts = {place for span in one.spans for place in (span.start, span.end)}
    bounds = []
    for match in _PIECES.finditer(one.text):
        places = [match.start(), *sorted(c for c in cuts if match.start() < c < match.end()), match.end()]
        bounds += list(itertools.pairwise(places))
    return bounds
