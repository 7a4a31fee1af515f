"""Human labels of some of a judge's verdicts calibrate the judge."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from flows.commands.parser import run
from tasks.judges.human_labels import label_rows, parse_labels, read_labels


def sheet(judged: Sequence[bool], labels: Sequence[object]) -> str:
    """A sheet of labels in CSV."""
    rows = [f"{at},{int(one)},{label}" for at, (one, label) in enumerate(zip(judged, labels, strict=True))]
    return "\n".join(["item,judged,label", *rows])


def test_labels_that_pandas_or_a_spreadsheet_saved_are_read_back(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    saved = pd.DataFrame({"item": ["a", "b", "c"], "judged": [1.0, 0.0, 1.0], "label": [1, None, 0]})
    saved.to_csv(file, index=False)
    assert "a,1.0,1.0\nb,0.0,\n" in file.read_text()
    saved.to_csv(tmp_path / "semicolons.csv", index=False, sep=";", encoding="utf-8-sig")
    saved.to_excel(tmp_path / "labels.xlsx", index=False)
    saved.assign(claim="a\rb").to_csv(tmp_path / "returns.csv", index=False, quoting=csv.QUOTE_ALL)
    for kind in (file, tmp_path / "semicolons.csv", tmp_path / "returns.csv", tmp_path / "labels.xlsx"):
        found = read_labels(kind)
        assert found["value"].tolist() == [1, 0, 1], kind
        assert found["truth"].fillna(-1).tolist() == [1, -1, 0], kind


def test_the_command_prints_the_judge_of_a_labelled_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "mine.csv", tmp_path / "rows.csv"
    file.write_text(sheet([at % 3 > 0 for at in range(200)], [at % 2 if at < 100 else "" for at in range(200)]))
    assert run(["agreement", str(file), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("mine.csv: labelled: 100 of 200 verdicts; ") and "powered_share" in said
    found = pd.read_csv(out)
    assert set(found["system"]) == {"mine"} and {"sensitivity", "labelled_share"} <= set(found["metric"])
    refused = {
        "id,score\na,1\n": "columns item, judged, label missing",
        "item,judged,label\n": "no label",
        "item,judged,label\na,1,\n": "no label",
        "item,label\na,1\n": "columns judged missing",
    }
    for other in ("", "a,b\n1,2\n", "item;judged\na;1\n", "item,judged\na,1\na,0\n"):
        (tmp_path / "verdicts.csv").write_text(other)
        for text, message in refused.items():
            file.write_text(text)
            assert run(["agreement", str(file)]) == 1
            assert message in capsys.readouterr().err
    file.write_text("item,judged,label\na,1,1\n")
    assert run(["agreement", str(file)]) == 0, "beside a table of another program"
    assert run(["agreement", str(file), "--metric", "score"]) == 1
    assert "--metric: needs --human" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,judged\na,1\n", "columns label missing"),
        ("item,judged,label\na,maybe,1\n", "row 2, column judged: found 'maybe'"),
        ("item,judged,label\na,1,0.5\n", "row 2, column label: found '0.5'"),
        ("item,judged,label\na,1,1\na,1,1\n", "item 'a' occurs more than once"),
    ],
)
def test_a_wrong_csv_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_labels(file)


def test_labels_of_one_note_are_drawn_together() -> None:
    rows = [f"{note}/{at},1,{int(note % 2 == 0)},{note}" for note in range(10) for at in range(20)]
    labels = parse_labels("sheet", "\n".join(["item,judged,label,cluster", *rows]))
    width = {}
    for name, document in (("note", labels["document"]), ("item", labels["unit"])):
        found = label_rows(labels.assign(document=document), system="s", seed=1, provenance="p").set_index("metric")
        assert found.loc["labelled_share", "value"] == 0.5
        width[name] = found.loc["labelled_share", "high"] - found.loc["labelled_share", "low"]
    assert width["note"] > 3 * width["item"]


def test_yes_is_the_positive_answer_and_a_correction_wider_than_one_is_not_given() -> None:
    labels = parse_labels("sheet", sheet([True] * 19 + [False], [1] * 17 + [0] * 3))
    found = label_rows(labels, system="s", seed=1, provenance="p").set_index("metric")["value"].to_dict()
    expected = {"sensitivity": 1, "specificity": 1 / 3, "precision": 17 / 19, "labelled_share": 0.85}
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert pd.isna(found["corrected_share"]) and found["corrected_share_possible"] == 0
