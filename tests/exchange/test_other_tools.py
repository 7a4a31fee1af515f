"""Each tool's library reads our exported files exactly."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tasks.exchange.annotated import AnnotatedText
from tasks.exchange.docbin import read_docbin, write_docbin
from tasks.exchange.label_studio import labelling_config, write_tasks
from tests.dataset.test_export import FILES
from tests.exchange.test_formats import EXAMPLE, LABELS

HERE = Path(__file__).parent
PYTHON = Path(os.environ.get("EXCHANGE_PYTHON", HERE.parents[1] / ".venv-exchange" / "bin" / "python"))
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="needs the other tools' libraries: make exchange")
EMPTY = AnnotatedText("13-normal", "Nothing.", ())


def run(*arguments: str | Path) -> Any:
    script = HERE / "read_by_other_tools.py"
    offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([PYTHON, script, *arguments], capture_output=True, text=True, check=False, env=offline)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_spacy_reads_our_docbin_and_we_read_the_same(tmp_path: Path) -> None:
    pytest.importorskip("spacy", reason="spaCy is an extra: pip install -e '.[spacy]'")
    file = tmp_path / "spans.spacy"
    file.write_bytes(write_docbin([EXAMPLE, EMPTY]))
    assert run("docbin", file) == [
        [one.name, one.text, [[s.start, s.end, s.label] for s in one.spans]] for one in (EXAMPLE, EMPTY)
    ]
    assert read_docbin(file.read_bytes()) == [EXAMPLE, EMPTY]


def test_label_studio_accepts_our_tasks_and_reads_their_spans(tmp_path: Path) -> None:
    tasks = json.loads(write_tasks([EXAMPLE, EMPTY], annotated_by="rules"))
    for number, task in enumerate(tasks):
        annotation = {"id": number, "result": task["predictions"][0]["result"], "completed_by": 1}
        task |= {"id": number, "annotations": [annotation]}
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    (tmp_path / "config.xml").write_text(labelling_config(LABELS))
    found = run("label-studio", tmp_path / "config.xml", tmp_path / "tasks.json")
    assert found["errors"] == []
    read = {name: sorted(tuple(span) for span in spans) for name, spans in found["read"]}
    assert read[EXAMPLE.name] == sorted((s.start, s.end, s.label) for s in EXAMPLE.spans)


def test_croissant_and_parquet_of_the_dataset_load(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    found = run("croissant", tmp_path / "croissant.json")
    assert found == {"errors": [], "records": run("parquet", tmp_path / "notes.parquet", tmp_path / "cache")}
