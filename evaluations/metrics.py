"""Metrics of your own in the main pipeline: edit this file (docs/own-metric.md). As an example, the figures kept."""

import re

from vignette import metric

NUMBER = re.compile(r"\d+(?:[.,/]\d+)?")


@metric("numbers kept", bounds=(0, 1))
def numbers_kept(texts):
    """Share of the source's numbers (doses, days, values) that the output repeats; none where it has no number."""
    found = {}
    for text in texts:
        if wanted := set(NUMBER.findall(text.source)):
            found[text.id] = len(wanted & set(NUMBER.findall(text.output))) / len(wanted)
    return found
