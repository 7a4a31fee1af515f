"""Names of raters who filled in copies of the same form."""

from collections import Counter
from collections.abc import Iterable


def rater_names(codes: Iterable[str]) -> list[str]:
    """The raters' codes, numbered where several raters share one: "clinician 1", "clinician 2"."""
    given = list(codes)
    shared, seen = Counter(given), Counter[str]()
    names = []
    for code in given:
        seen[code] += 1
        names.append(f"{code} {seen[code]}" if shared[code] > 1 else code)
    return names
