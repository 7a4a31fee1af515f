"""Which entry of the registry a table's stem has."""

from collections.abc import Collection
from fnmatch import fnmatchcase


def entry_of(stem: str, stage: str, entries: Collection[str]) -> str | None:
    """The entry for a stem that ``stage`` reads or writes, ``reports/reproduction`` being ``reproduction``.

    The first pattern that fits, where the stem itself is no entry; None where none fits.
    """
    name = stem.rpartition("/")[2]
    exact = (f"{stage.partition('@')[0]}/{name}", name)
    return next((key for key in exact if key in entries), None) or next(
        (pattern for pattern in entries if fnmatchcase(name, pattern) or fnmatchcase(exact[0], pattern)), None
    )
