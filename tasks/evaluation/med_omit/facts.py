"""Facts with ids, as the judge is shown them."""

from collections.abc import Mapping, Sequence


def number_facts(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, str]]:
    """Fact ids F0, F1, ... -> (kind, fact), in order, repeats across the kinds dropped before numbering.

    The released code numbers before it drops them, so that ids repeat; that is not reproduced.
    """
    found: dict[str, tuple[str, str]] = {}
    for kind, facts in lists.items():
        for fact in facts:
            text = " ".join(fact.split())
            if text:
                found.setdefault(text.lower(), (kind, text))
    return {f"F{number}": fact for number, fact in enumerate(found.values())}
