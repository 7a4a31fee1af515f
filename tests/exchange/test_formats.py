"""Every exchange format preserves the text and its spans exactly."""

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import SourceError
from schemas.tables.records import ASSERTIONS
from tasks.exchange.annotated import AnnotatedText, LabelledSpan, annotated
from tasks.exchange.brat import read_brat, write_brat
from tasks.exchange.label_studio import labelling_config, read_export, write_tasks

LABELS = ("cough", "respiratory pain", "nasal symptoms", "two\nlines")
NOTE = "**History**\nCough for 3 days 🤧, worse\nat night; T° 38.2–39 °C.\r\n\tNo é pain.  "


def spans(*places: tuple[int, int, str]) -> list[LabelledSpan]:
    return [LabelledSpan(*place) for place in places]


EXAMPLE = annotated(
    "12-normal",
    NOTE,
    [
        LabelledSpan(12, 17, "cough", "present"),
        LabelledSpan(12, 46, "cough", "possible"),
        LabelledSpan(23, 29, "cough", "past"),
        LabelledSpan(30, 46, "nasal symptoms", "other person"),
        LabelledSpan(52, 57, "nasal symptoms"),
        LabelledSpan(66, 75, "respiratory pain", "absent"),
    ],
)


@st.composite
def texts(draw: st.DrawFn) -> AnnotatedText:
    """A text without lone surrogates, with spans that do not begin or end in white space."""
    text = draw(
        st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), min_size=1, max_size=60)
    )
    places = draw(st.sets(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)), st.sampled_from(LABELS))))
    kept = {(a, b, label) for a, b, label in places if a < b and not (text[a].isspace() or text[b - 1].isspace())}
    asserted = st.sampled_from(("", *ASSERTIONS))
    return annotated("t", text, [LabelledSpan(*place, draw(asserted)) for place in sorted(kept)])


@settings(max_examples=50, deadline=None)
@given(texts())
def test_brat_round_trips(one: AnnotatedText) -> None:
    assert read_brat(write_brat([one]), LABELS) == ([one], [])


@settings(max_examples=50, deadline=None)
@given(texts())
def test_label_studio_round_trips(one: AnnotatedText) -> None:
    assert read_export(corrected(write_tasks([one], annotated_by="rules"))) == ([one], [])


def corrected(tasks: str, *, utf16: bool = False) -> str:
    """An export in which a person accepted every pre-annotation, with offsets as an early release counts them."""
    exported = json.loads(tasks)
    for task in exported:
        result = task.pop("predictions")[0]["result"]
        for region in result if utf16 else []:
            for place in ("start", "end"):
                before = task["data"]["text"][: region["value"][place]]
                region["value"][place] = len(before.encode("utf-16-le")) // 2
        task["annotations"] = [{"was_cancelled": True, "result": []}, {"was_cancelled": False, "result": result}]
    return json.dumps(exported)


def test_offsets_of_an_early_label_studio_are_read_by_the_text_of_the_region() -> None:
    assert read_export(corrected(write_tasks([EXAMPLE], annotated_by="rules"), utf16=True)) == ([EXAMPLE], [])


def test_a_span_over_two_lines_is_two_fragments_in_brat() -> None:
    one = annotated("n", "severe\ncough", spans((0, 12, "cough")))
    assert write_brat([one])["n.ann"] == "T1\tcough 0 6;7 12\tsevere cough\n"
    ends = annotated("n", "\ncough\n", spans((0, 7, "cough")))
    assert write_brat([ends])["n.ann"] == "T1\tcough 1 6\tcough\n", "a line break alone is no fragment"


def test_labels_are_escaped_in_the_labelling_config() -> None:
    assert ElementTree.fromstring(labelling_config(['a <"b']))[0][0].get("value") == 'a <"b'


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda: annotated("n", "abc", spans((1, 9, "cough"))), "n: span 1-9 (cough) is empty or outside"),
        (lambda: annotated("n", "abc", spans((0, 2, "cough"), (0, 2, "cough"))), "listed twice"),
        (lambda: read_brat({"n.txt": "abc", "n.ann": "T1\tcough 0 2\tzz\n"}, LABELS), "n.ann, line 1: the text at 0-2"),
        (lambda: read_brat({"n.txt": "abc", "n.ann": "T1\tfever 0 2\tab\n"}, LABELS), "label 'fever' is not one of"),
        (lambda: read_brat({"n.txt": "abc", "n.ann": "T1\tcough 0 1;2 3\ta c\n"}, LABELS), "has a gap 'b'"),
        (lambda: read_export("{}"), "expected a list of tasks"),
        (lambda: read_export("nope"), "not a Label Studio export"),
        (
            lambda: read_export(corrected(write_tasks([EXAMPLE], annotated_by="r")).replace("Cough for", "Fever for")),
            "is not at its offsets",
        ),
    ],
)
def test_unreadable_input_is_named(read: object, words: str) -> None:
    with pytest.raises(SourceError, match=r".*") as error:
        read()  # type: ignore[operator]
    assert words in str(error.value)
