"""Agreement of spans checked by hand."""

import json
from pathlib import Path

import pandas as pd
import pytest

from schemas.errors import SourceError
from tasks.judges.span_agreement import RealNote, SymptomSpan, agreement_rows, hits, read_real_notes

COUGH = "cough"


def pairs(ours: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> int:
    one, other = ([SymptomSpan(COUGH, *at) for at in spans] for spans in (ours, theirs))
    return hits("dry cough at night, then more of it", one, other)["spans"][0]


def test_spans_pair_one_to_one_so_that_most_pairs_are_made() -> None:
    assert pairs([(0, 5), (0, 10)], [(0, 10), (20, 30)]) == 1
    # in order, the first of ours would take the only span that pairs with the second
    assert pairs([(0, 12), (0, 10)], [(0, 10), (0, 22)]) == 2
    assert hits("a", [SymptomSpan("fever", 0, 9)], [SymptomSpan(COUGH, 0, 9)])["spans"] == (0, 1, 1)


def test_half_of_the_joint_characters_is_a_pair_and_less_is_none() -> None:
    assert (pairs([(0, 10)], [(0, 20)]), pairs([(0, 10)], [(0, 21)]), pairs([], [(0, 20)])) == (1, 0, 0)


def test_tokens_count_once_a_symptom_and_at_any_contact() -> None:
    ours = [SymptomSpan(COUGH, 4, 9), SymptomSpan(COUGH, 4, 9), SymptomSpan("pain", 13, 18)]
    found = hits("dry cough at night", ours, [SymptomSpan(COUGH, 0, 5)])  # ends within the second word
    assert found == {"spans": (0, 3, 1), "tokens": (1, 2, 2), "symptoms": (1, 2, 1)}
    assert hits("dry cough", [SymptomSpan(COUGH, 3, 4)], [])["tokens"] == (0, 0, 0), "a blank is no token"


def test_rows_are_sums_over_the_notes_of_a_version() -> None:
    texts = {"normal": "A dry cough. All well.", "compact": "Cough."}
    notes = [RealNote(n, texts, {"normal": [SymptomSpan(COUGH, 0, 12)], "compact": []}) for n in (1, 2, 4)]
    marked = [(1, "normal", COUGH, 0, 12), (2, "normal", COUGH, 0, 3), (2, "compact", COUGH, 0, 5)]
    spans = pd.DataFrame(marked, columns=["record", "version", "symptom", "start", "end"])
    table = agreement_rows(notes, spans, stage="s", system="annotator", provenance="rules", seed=1, unscored=1)
    found = table.set_index(["condition", "item", "metric"])[["value", "n", "unscored"]]
    item = "spans, published notes"
    assert found.loc[("normal", item, "precision")].tolist() == [0.5, 3, 1]
    assert found.loc[("normal", item, "recall"), "value"] == pytest.approx(1 / 3)
    assert found.loc[("normal", item, "f1"), "value"] == pytest.approx(2 / 5)
    assert found.loc[("normal", "tokens, published notes", "recall"), "value"] == pytest.approx(5 / 9)
    assert found.loc[("compact", "symptoms, published notes", "precision"), "value"] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"compact_spans": None}, None),
        ({"normal": None}, r"line 1: keys \['normal'\] are missing"),
        ({"normal_spans": [{"symptom": COUGH, "start": 0, "end": 3, "text": "dry"}]}, "'dry' does not stand at 0-3 of"),
    ],
)
def test_a_line_that_is_no_note_is_named(tmp_path: Path, change: dict, message: str | None) -> None:
    line = {"record": 3, "normal": "A dry cough.", "normal_spans": [], "compact": "Cough.", "compact_spans": []}
    line |= {name: value for name, value in change.items() if value is not None or name.endswith("_spans")}
    line = {name: value for name, value in line.items() if not (name == "normal" and "normal" in change)}
    (file := tmp_path / "notes.jsonl").write_text(json.dumps(line) + "\n")
    if message is None:
        assert read_real_notes(file)[0].spans == {"normal": [], "compact": []}
        return
    with pytest.raises(SourceError, match=message):
        read_real_notes(file)
