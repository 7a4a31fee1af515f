"""``vignette exchange``: notes of a run are exported to another tool and read back with corrections."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.commands.exchange import Version, read, write
from flows.runtime.tables import read_table, write_table
from schemas.errors import SourceError
from schemas.tables.records import COMPACT_NOTES, CORRECTED_SPANS, NOTES, SPANS
from tests.dataset.test_export import export_files
from tests.support.repository import write_files

NORMAL = ["**History**\nDry cough.\n\n**Physical Examination**\nNo fever.", "**History**\nFalls asleep."]
COMPACT = ["Hx: dry cough. PE: afebrile", "Hx: falls asleep"]
FORMATS = {"label-studio": "tasks.json", "brat": ""}


@pytest.fixture(autouse=True)
def last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a run with two notes and three spans, and a dvc.yaml with their paths."""
    monkeypatch.chdir(tmp_path)
    outs = ["data/span/spans.parquet"]
    deps = ["data/filter/notes.parquet", "data/compact/compact_notes.parquet"]
    Path("dvc.yaml").write_text(json.dumps({"stages": {"span": {"cmd": "", "deps": deps, "outs": outs}}}))
    notes = pd.DataFrame({"record": [0, 1], "attempt": 0, "note": NORMAL, "consistent": True, "provenance": "rules"})
    compact = pd.DataFrame({"record": [0, 1], "compact": COMPACT, "provenance": "rules"})
    rows = [(0, "compact", "cough", 4, 13), (0, "normal", "cough", 12, 21), (0, "normal", "fever", 50, 58)]
    spans = pd.DataFrame(rows, columns=["record", "version", "symptom", "start", "end"])
    texts = {"normal": NORMAL[0], "compact": COMPACT[0]}
    spans["text"] = [texts[version][start:end] for _, version, _, start, end in rows]
    write_table(notes, Path(deps[0]), NOTES)
    write_table(compact, Path(deps[1]), COMPACT_NOTES)
    said = ["present", "present", "absent"]
    spans = spans.assign(section="other", matched="exact", assertion=said, record_value="no")
    write_table(spans, Path(outs[0]), SPANS)


@pytest.mark.parametrize("form", FORMATS)
def test_untouched_spans_round_trip(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(form, Path("out"), "normal")  # type: ignore[arg-type]
    source = Path("out") / FORMATS[form]
    if form == "label-studio":
        annotate(source, lambda result: result)
    read(source, form, Path("back.csv"))  # type: ignore[arg-type]
    back = pd.read_csv("back.csv")
    found = back[back["symptom"].notna()][["start", "end", "assertion"]].to_numpy().tolist()
    assert found == [[12, 21, "present"], [50, 58, "absent"]]
    said = "of 2 extracted spans 2 kept and 0 removed, moved or relabelled; new: 0; with a changed assertion: 0"
    assert said in capsys.readouterr().out


def test_corrected_spans_in_parquet_keep_what_they_assert(capsys: pytest.CaptureFixture[str]) -> None:
    write("brat", Path("out"), "normal")
    file = Path("out/0-normal.ann")
    file.write_text(file.read_text().replace("T1 present", "T1 past").replace("A2\tAssertion T2 absent\n", ""))
    read(Path("out"), "brat", Path("back.parquet"))
    said = read_table(Path("back.parquet"), CORRECTED_SPANS).dropna(subset=["symptom"])["assertion"]
    assert said.iloc[0] == "past" and said.isna().tolist() == [False, True]
    assert "with a changed assertion: 2" in capsys.readouterr().out


def test_a_span_with_another_label_is_said_to_be_relabelled(capsys: pytest.CaptureFixture[str]) -> None:
    write("brat", Path("out"), "normal")
    (file := Path("out/0-normal.ann")).write_text(file.read_text().replace("T1\tcough", "T1\tfever"))
    read(Path("out"), "brat", Path("back.csv"))
    assert "2 extracted spans 1 kept and 1 removed, moved or relabelled; new: 1" in capsys.readouterr().out


def annotate(tasks: Path, correct: object) -> None:
    """Turn pre-annotations into a person's annotations."""
    exported = json.loads(tasks.read_text())
    for task in exported:
        task["annotations"] = [{"result": correct(task.pop("predictions")[0]["result"])}]  # type: ignore[operator]
    tasks.write_text(json.dumps(exported))


def test_a_removed_span_is_missing_and_a_note_without_spans_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    write("label-studio", Path("out"), "normal")
    annotate(Path("out/tasks.json"), lambda result: result[:1])
    read(Path("out/tasks.json"), "label-studio", Path("back.csv"))
    back = pd.read_csv("back.csv")
    assert back["symptom"].fillna("none").tolist() == ["cough", "none"]
    assert back[["start", "end"]].to_numpy().tolist() == [[12, 21], [0, 0]] and back["text"].isna().tolist()[1]
    assert "of 2 extracted spans 1 kept and 1 removed, moved or relabelled; new: 0" in capsys.readouterr().out


def test_a_note_of_another_run_is_refused_and_nothing_written() -> None:
    write("brat", Path("out"), "compact")
    Path("out/1-compact.txt").write_text("Hx: falls down")
    with pytest.raises(SourceError, match="1-compact is not a note of the last run"):
        read(Path("out"), "brat", Path("back.csv"))
    assert not Path("back.csv").exists()


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An exported dataset, in a working directory that is no clone."""
    write_files(tmp_path / "dataset", export_files())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "dataset"


@pytest.mark.parametrize("version", ["normal", "compact"])
def test_a_dataset_is_exchanged_without_a_run(
    version: Version, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("brat", Path("out"), version, dataset)
    read(Path("out"), "brat", Path("back.csv"), dataset)
    back = pd.read_csv("back.csv").dropna(subset=["symptom"])
    held = pd.concat([pd.read_parquet(file) for file in sorted(dataset.glob("data/*.parquet"))])
    spans = held["note_spans" if version == "normal" else "compact_note_spans"].explode().dropna()
    expected = sorted((span["symptom"], span["start"], span["end"]) for span in spans)
    assert expected and sorted(back[["symptom", "start", "end"]].itertuples(index=False, name=None)) == expected
    assert "0 removed, moved or relabelled; new: 0; with a changed assertion: 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("column", "value"),
    [("record", 0), ("record", None), ("record", "../x"), ("note", None), ("note", b"\xff"), ("note_spans", [None])],
)
def test_a_dataset_of_other_values_is_refused_and_nothing_written(column: str, value: object, dataset: Path) -> None:
    for file in dataset.glob("data/*.parquet"):
        table = pq.read_table(file)
        values = pa.array([value] * len(table))
        pq.write_table(table.set_column(table.column_names.index(column), column, values), file)
    with pytest.raises(SourceError, match=r"dataset: (not an exported|cannot be read|\d+-normal is there)"):
        write("brat", Path("out"), "normal", dataset)
    assert not Path("out").exists()


def test_a_dataset_with_a_damaged_file_is_refused_and_nothing_written(dataset: Path) -> None:
    for file in dataset.glob("data/*.parquet"):
        held = file.read_bytes()
        file.write_bytes(held[:-40] + bytes(byte ^ 255 for byte in held[-40:-8]) + held[-8:])
    with pytest.raises(SourceError, match="dataset: cannot be read as an exported dataset"):
        write("brat", Path("out"), "normal", dataset)
    assert not Path("out").exists()


def test_without_a_run_or_a_dataset_the_command_says_what_to_name(dataset: Path) -> None:
    with pytest.raises(SourceError, match="there is no last run; name an exported dataset with --dataset"):
        write("brat", Path("out"))
    with pytest.raises(SourceError, match="expected the folder of an exported dataset"):
        write("brat", Path("out"), dataset=Path())
