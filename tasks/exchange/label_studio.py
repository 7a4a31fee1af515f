"""Label Studio: tasks with pre-annotations out, an export with corrected spans back in.

Label Studio counts code points since release 1.5 and UTF-16 units before; a region also holds its text, which says
which of the two an export used.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from schemas.errors import SourceError
from tasks.exchange.annotated import AnnotatedText, LabelledSpan, annotated
from tasks.transport.untrusted import parse_json

FROM, TO = "symptom", "text"


def labelling_config(labels: Sequence[str]) -> str:
    """The labelling interface of a project, as XML."""
    choices = [f"    <Label value={quoteattr(label)}/>" for label in labels]
    opening, closing = f'  <Labels name="{FROM}" toName="{TO}">', "  </Labels>"
    return "\n".join(["<View>", opening, *choices, closing, f'  <Text name="{TO}" value="$text"/>', "</View>", ""])


def write_tasks(texts: Sequence[AnnotatedText], *, annotated_by: str) -> str:
    """Tasks to import into a project, as JSON; ``annotated_by`` names the model version of the pre-annotations."""
    return json.dumps([_task(one, annotated_by) for one in texts], ensure_ascii=False, indent=1) + "\n"


def read_export(content: str) -> list[AnnotatedText]:
    """Texts with the corrected spans of a JSON export: of each task the last annotation that was not cancelled.

    Tasks that nobody annotated are left out. Raises SourceError naming task and region for what cannot be read.
    """
    try:
        tasks = parse_json(content)
    except ValueError as error:
        raise SourceError(f"not a Label Studio export: {error}; expected its JSON format") from error
    if not isinstance(tasks, list):
        raise SourceError("not a Label Studio export: expected a list of tasks, its JSON format (not JSON-MIN)")
    found = []
    for number, task in enumerate(tasks):
        try:
            name, text = str(task["data"]["name"]), str(task["data"]["text"])
            finished = [one for one in task["annotations"] if not one.get("was_cancelled")]
        except (KeyError, TypeError) as error:
            raise SourceError(f"task {number} has no {error}; expected data.name, data.text and annotations") from error
        if finished:
            spans = [span for region in finished[-1]["result"] for span in _spans(region, name, text)]
            found.append(annotated(name, text, spans))
    return found


def _task(one: AnnotatedText, annotated_by: str) -> dict[str, Any]:
    regions = [
        {
            "id": f"{one.name}-{number}",
            "from_name": FROM,
            "to_name": TO,
            "type": "labels",
            "value": {"start": s.start, "end": s.end, "text": one.text[s.start : s.end], "labels": [s.label]},
        }
        for number, s in enumerate(one.spans)
    ]
    return {
        "data": {"name": one.name, "text": one.text},
        "predictions": [{"model_version": annotated_by, "result": regions}],
    }


def _spans(region: Mapping[str, Any], name: str, text: str) -> list[LabelledSpan]:
    if region.get("type") != "labels":
        return []  # a relation, or a choice that a project added
    value = region["value"]
    start, end = int(value["start"]), int(value["end"])
    words = value.get("text", text[start:end])
    if text[start:end] != words:
        start, end = _from_utf16(text, start), _from_utf16(text, end)
    if text[start:end] != words:
        raise SourceError(f"{name}: region {region.get('id')} holds {words!r}, which is not at its offsets in the text")
    return [LabelledSpan(start, end, str(label)) for label in value["labels"]]


def _from_utf16(text: str, units: int) -> int:
    """The code point at a number of UTF-16 units."""
    return len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", errors="ignore"))
