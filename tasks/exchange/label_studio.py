"""Label Studio: tasks with pre-annotations out, an export with corrected spans back in.

Label Studio counts code points since release 1.5 and UTF-16 units before; a region also holds its text, which says
which of the two an export used.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import Any
from xml.sax.saxutils import quoteattr

from schemas.errors import SourceError
from schemas.tables.records import ASSERTIONS
from tasks.exchange.annotated import AnnotatedText, LabelledSpan, annotated
from tasks.transport.untrusted import of_form, parse_json

FROM, TO = "symptom", "text"
ASSERTION = "assertion"
"""Name of the choice that every region has."""


def labelling_config(labels: Sequence[str]) -> str:
    """The labelling interface of a project, as XML."""
    choices = [f"    <Label value={quoteattr(label)}/>" for label in labels]
    labelled = [f'  <Labels name="{FROM}" toName="{TO}">', *choices, "  </Labels>"]
    stated = [f"    <Choice value={quoteattr(assertion)}/>" for assertion in ASSERTIONS]
    asserted = [
        f'  <Choices name="{ASSERTION}" toName="{TO}" perRegion="true" choice="single">',
        *stated,
        "  </Choices>",
    ]
    return "\n".join(["<View>", *labelled, f'  <Text name="{TO}" value="$text"/>', *asserted, "</View>", ""])


def write_tasks(texts: Sequence[AnnotatedText], *, annotated_by: str) -> str:
    """Tasks to import into a project, as JSON; ``annotated_by`` names the model version of the pre-annotations."""
    tasks = []
    for one in texts:
        regions = [
            part for number, span in enumerate(one.spans) for part in _region(f"{one.name}-{number}", span, one.text)
        ]
        predictions = [{"model_version": annotated_by, "result": regions}]
        tasks.append({"data": {"name": one.name, "text": one.text}, "predictions": predictions})
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def read_export(content: str, labels: Sequence[str] = ()) -> tuple[list[AnnotatedText], list[str]]:
    """Texts with the corrected spans of a JSON export: of each task the last annotation that was not cancelled.

    The second result names what is not read: tasks that nobody annotated, earlier annotations and results of other
    types. ``labels`` are those known, if any. Raises SourceError naming task and region for what cannot be read.
    """
    try:
        tasks = parse_json(content)
    except ValueError as error:
        raise SourceError(f"not a Label Studio export: {error}; expected its JSON format") from error
    if not isinstance(tasks, list):
        raise SourceError("not a Label Studio export: expected a list of tasks, its JSON format (not JSON-MIN)")
    found, unread = list[AnnotatedText](), list[str]()
    for number, task in enumerate(tasks):
        with of_form(f"task {number}", "expected data.name, data.text and annotations with a result of regions"):
            name, text = str(task["data"]["name"]), str(task["data"]["text"])
            finished = [one for one in task["annotations"] if not one.get("was_cancelled")]
            result = finished[-1]["result"] if finished else []
            said = [part for part in result if (part.get("type"), part.get("from_name")) == ("choices", ASSERTION)]
            stated = {part.get("id"): part["value"]["choices"][0] for part in said if part["value"].get("choices")}
            spans = [span for region in result for span in _spans(region, name, text, stated)]
            unread += ["earlier annotations"] * (len(finished) - 1) if finished else ["tasks without an annotation"]
            kinds = [str(one.get("type")) for one in result if one not in said]
            unread += [kind for kind in kinds if kind != "labels"]
        if finished:
            if unknown := [span.label for span in spans if labels and span.label not in labels]:
                raise SourceError(f"{name}: label {unknown[0]!r} is not one of {', '.join(labels)}; correct it")
            found.append(annotated(name, text, spans))
    return found, unread


def _region(name: str, span: LabelledSpan, text: str) -> Iterator[dict[str, Any]]:
    """The results that make up a region: its label and, where it has one, its assertion."""
    place = {"start": span.start, "end": span.end, "text": text[span.start : span.end]}
    about = {"id": name, "to_name": TO}
    yield {**about, "from_name": FROM, "type": "labels", "value": {**place, "labels": [span.label]}}
    if span.assertion:
        yield {**about, "from_name": ASSERTION, "type": "choices", "value": {**place, "choices": [span.assertion]}}


def _spans(region: Mapping[str, Any], name: str, text: str, stated: Mapping[object, str]) -> list[LabelledSpan]:
    value = region.get("value", {})
    if region.get("type") != "labels":
        if any(key.endswith("labels") for key in value):
            raise SourceError(f"{name}: region {region.get('id')} is of type {region.get('type')}; expected labels")
        return []  # a relation, or a choice that a project added
    if not value.get("labels"):
        raise SourceError(f"{name}: region {region.get('id')} has no label; choose one, or delete the region")
    start, end = index(value["start"]), index(value["end"])  # a slice would take null, too
    words = value.get("text", text[start:end])
    if text[start:end] != words:
        start, end = _from_utf16(text, start), _from_utf16(text, end)
    if text[start:end] != words:
        raise SourceError(f"{name}: region {region.get('id')} holds {words!r}, which is not at its offsets in the text")
    assertion = str(stated.get(region.get("id"), ""))
    return [LabelledSpan(start, end, str(label), assertion) for label in value["labels"]]


def _from_utf16(text: str, units: int) -> int:
    """The code point at a number of UTF-16 units."""
    return len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", errors="ignore"))
