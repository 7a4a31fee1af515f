"""Rows of the table of spans."""


def span_row(
    record: int, version: str, symptom: str, text: str, *, start: int = 0, section: str = "history"
) -> dict[str, object]:
    """A span found verbatim at ``start``."""
    place = {"record": record, "version": version, "symptom": symptom, "start": start, "end": start + len(text)}
    return place | {"text": text, "section": section, "matched": "exact", "assertion": "present"}
