"""Each tool's library reads our exported files exactly, and converts them as docs/exchange.md shows."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.dataset.export import SPLITS
from tasks.exchange.annotated import AnnotatedText, LabelledSpan, annotated
from tasks.exchange.label_studio import labelling_config, write_tasks
from tests.dataset.test_export import export_files
from tests.exchange.test_formats import EXAMPLE, LABELS
from tests.support.imports import ROOT
from tests.support.repository import write_files
from tests.support.shown import shown_commands

HERE = Path(__file__).parent
PYTHON = Path(os.environ.get("EXCHANGE_PYTHON", ROOT / ".venv-exchange" / "bin" / "python"))
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not PYTHON.exists(), reason="needs the other tools' libraries: make exchange"),
]
EMPTY = AnnotatedText("13-normal", "Nothing.", ())


def run(*arguments: str | Path) -> Any:
    script = HERE / "read_by_other_tools.py"
    offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([PYTHON, script, *arguments], capture_output=True, text=True, check=False, env=offline)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_label_studio_accepts_our_tasks_and_reads_their_spans(tmp_path: Path) -> None:
    found = run("label-studio", *exported_project(tmp_path, [EXAMPLE, EMPTY]))
    assert found["errors"] == []
    read = {name: sorted(tuple(span) for span in spans) for name, spans in found["read"]}
    assert read[EXAMPLE.name] == sorted((s.start, s.end, s.label, s.assertion) for s in EXAMPLE.spans)


def exported_project(folder: Path, texts: list[AnnotatedText]) -> tuple[Path, Path]:
    """A project's labelling interface and its JSON export, in which a person accepted every pre-annotation."""
    tasks = json.loads(write_tasks(texts, annotated_by="rules"))
    for number, task in enumerate(tasks):
        annotation = {"id": number, "result": task["predictions"][0]["result"], "completed_by": 1}
        task |= {"id": number, "annotations": [annotation]}
    config, export = folder / "labelling_config.xml", folder / "export.json"
    config.write_text(labelling_config(LABELS))
    export.write_text(json.dumps(tasks))
    return config, export


def test_the_shown_command_makes_conll_of_an_export(tmp_path: Path) -> None:
    (words,) = [shown.words for shown in shown_commands() if shown.words[0] == "label-studio-converter"]
    cough, pain = LabelledSpan(0, 9, "cough", "present"), LabelledSpan(14, 18, "respiratory pain", "absent")
    exported_project(tmp_path, [annotated("12-normal", "Dry cough, no pain.", [cough, pain]), EMPTY])
    done = subprocess.run(
        [PYTHON.with_name(words[0]), *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = (tmp_path / "conll" / "result.conll").read_text().splitlines()
    rows = [line.split(" ", 3)[::3] for line in lines[1:]]
    first = [["Dry", "B-cough"], ["cough", "I-cough"], [",", "O"], ["no", "O"], ["pain", "B-respiratory pain"]]
    assert rows == [*first, [".", "O"], [""], ["Nothing", "O"], [".", "O"], [""]]


def test_the_shown_lines_make_a_docbin_of_the_exported_spans(dataset: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "exchange.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    rows = rows_of(dataset)["train"]
    rows[0]["note_spans"][0]["assertion"] = "absent"
    file = Path("data", "export", "dataset", "data", "train.parquet")
    (tmp_path / file).parent.mkdir(parents=True)
    schema = pq.read_schema(dataset / "data" / file.name)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / file)
    done = subprocess.run([PYTHON, "-c", lines], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    expected = [
        [row["note"], [[s["start"], s["end"], s["symptom"], s["assertion"] or ""] for s in row["note_spans"]]]
        for row in rows
    ]
    assert run("docbin", tmp_path / "train.spacy") == expected


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("dataset")
    write_files(folder, export_files())
    return folder


def rows_of(dataset: Path) -> dict[str, list[dict[str, Any]]]:
    return {split: pq.read_table(dataset / "data" / f"{split}.parquet").to_pylist() for split in SPLITS}


def test_datasets_loads_the_folder_with_its_splits_and_loses_nothing(dataset: Path, tmp_path: Path) -> None:
    assert run("datasets", dataset, tmp_path / "cache") == rows_of(dataset)
