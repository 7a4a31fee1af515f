"""What a user does after a first run, in a copy of the clone: the tests are its history, in their order."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.repository.pipeline import read_pipeline, with_dependents
from flows.stages.report import tables_in
from tests.measures.test_own_metrics import SHOWN
from tests.support.clone import Clone
from tests.support.hosted import completion, hosted

pytestmark = pytest.mark.dag


@pytest.fixture(scope="module")
def lived(built: Clone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    clone = built.copied_to(tmp_path_factory.mktemp("lived") / "vignette")
    yield clone
    clone.vignette("server", "stop")


def would_rebuild(clone: Clone) -> set[str]:
    said = clone.vignette("repro", "--no-probe", "--dry-run").stdout  # an estimate of the calls follows
    return set(said.partition("would rebuild: ")[2].splitlines()[0].split(", ")) - {"nothing"}


def test_another_fingerprint_makes_stale_what_asks_that_model_and_what_follows(lived: Clone) -> None:
    file = lived.folder / "fingerprints" / "answerer.json"
    before = file.read_text()
    assert would_rebuild(lived) == set()
    file.write_text(json.dumps(json.loads(before) | {"epoch": 1}, indent=2) + "\n")
    stale = would_rebuild(lived)
    file.write_text(before)
    depending = set(with_dependents(read_pipeline(lived.folder / "dvc.yaml"), ["probe@answerer"]))
    assert {"note_qa", "history_qa", "report"} <= stale <= depending


AGAIN = ("sample", "write", "doclens", "headlines")


@pytest.mark.soak
def test_plain_dvc_gives_the_same_bytes(lived: Clone) -> None:
    before = {stage: lived.outputs(stage) for stage in AGAIN}
    done = lived.run("dvc", "repro", "--force", "--single-item", *AGAIN)
    assert [stage for stage in AGAIN if f"Running stage '{stage}'" not in done.stdout] == []
    assert {stage: lived.outputs(stage) for stage in AGAIN} == before
    assert lived.git("status", "--porcelain", "--untracked-files=no") == ""


def begin_round(clone: Clone) -> "subprocess.Popen[str]":
    """A round of the watch, in a process group of its own."""
    command = [sys.executable, "-m", "flows.commands.cli", "watch", "once"]
    environment = clone.environment | {"PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        command, cwd=clone.folder, env=environment, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def test_a_round_of_the_watch_that_is_killed_is_finished_by_the_next(lived: Clone) -> None:
    lived.set_params(history_qa__questions=3)
    killed = begin_round(lived)
    assert killed.stdout is not None
    begun = any("Running stage 'history_qa'" in line for line in killed.stdout)  # reads no further than that line
    assert begun, "the round ended before it ran the stage"
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert lived.git("branch", "--list", "lineages") == ""
    done = lived.vignette("watch", "once")
    assert "watch: rebuilt (branch HEAD)" in done.stdout, done.stdout[-3000:]
    assert lived.git("status", "--porcelain", "--untracked-files=no") == ""


def test_the_lineage_of_the_watch_differs_by_the_edit_and_what_follows_from_it(lived: Clone) -> None:
    changed = lived.git("diff", "--name-only", "HEAD", "lineages", "--", "reports/tables").split()
    assert changed == ["reports/tables/history_qa.csv"]
    lived.vignette("compare", "HEAD~1", "lineages", "--out", "compared")
    (page,) = (lived.folder / "compared").glob("*.html")
    text = page.read_text()
    assert "history_qa.questions" in text and "note_qa.judge_takes" not in text


@pytest.mark.soak
def test_dvc_runs_the_metric_of_the_docs_in_place_of_the_one_that_ships(lived: Clone) -> None:
    found = {}
    for name in ("ships", "docs"):
        if name == "docs":
            (lived.folder / "evaluations" / "metrics.py").write_text(SHOWN[0])
            lived.run("dvc", "repro", "--single-item", "own_metrics")
        (found[name],) = pd.read_csv(lived.folder / "reports" / "tables" / "own_metrics.csv").to_dict("records")
    assert found["ships"]["metric"] == "numbers kept"
    assert found["docs"]["metric"] == "kept words" and found["docs"]["n"] == 12 and 0 < found["docs"]["value"] <= 1
    lived.commit("the metric of the docs")


FORMULA = '''"""Length of the notes."""

import pandas as pd

from tasks.statistics.intervals import COUNT
from tasks.statistics.metric_rows import COMPUTED, mean_row, metric_table


def note_length(notes: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Metric rows of the mean length of NOTES in characters."""
    lengths = notes["note"].str.len().to_numpy()
    rows = [mean_row("characters", lengths, bounds=COUNT, seed=seed)]
    return metric_table(rows, stage="note_length", system="notes", condition="normal", item="all", provenance=COMPUTED)
'''
FLOW = '''"""Stage `note_length`: the length of the notes."""

from flows.runtime.stage import Stage
from tasks.measures.note_length import note_length


async def run(stage: Stage) -> None:
    """Measure the notes that were kept."""
    stage.save_metrics("note_length", note_length(stage.load("notes"), seed=stage.params.seed))
'''
ENTRY = """  note_length:
    desc: Measure the length of the notes
    cmd: vignette stage note_length
    deps: [fingerprints/code/note_length.json, data/filter/notes.parquet]
    params: [seed]
    outs:
      - reports/tables/note_length.csv: {cache: false}

  report:
"""
CODE = "{fingerprints/code/report.json: *written}"
CAPTION = """note_length:
  group: Notes, checks and spans
  title: Length of the notes
  caption: Mean length of the notes.
  metrics:
    characters: mean number of characters
"""
TOUCHED = [
    "dvc.yaml",
    "flows/stages/note_length.py",
    "tasks/measures/note_length.py",
    "tasks/reporting/templates/captions.yaml",
]
TABLE = "reports/tables/note_length.csv"


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def changed_files(clone: Clone) -> list[str]:
    """Files of the user's that differ from the last commit."""
    lines = clone.git("status", "--porcelain", "--untracked-files=all").splitlines()
    written = (TABLE, "fingerprints/code/", "dvc.lock")
    return sorted(line[3:] for line in lines if not line[3:].startswith(written))


def rebuilt(clone: Clone) -> dict[str, float]:
    """The metrics of the new stage, after a rebuild."""
    clone.vignette("repro", "--no-probe", "note_length")
    tables, not_shown = tables_in(clone.folder / "reports" / "tables")
    assert not_shown == []
    return dict(tables[clone.folder / TABLE].set_index("metric")["value"])


@pytest.mark.soak
def test_a_new_stage_takes_four_files_and_its_table_is_shown(lived: Clone) -> None:
    for name, text in zip(TOUCHED[1:3], (FLOW, FORMULA), strict=True):
        (lived.folder / name).write_text(text)
    change(lived.folder / "dvc.yaml", "  report:\n", ENTRY)
    change(lived.folder / "dvc.yaml", CODE, f"{CODE}, {CODE.replace('report', 'note_length')}")
    captions = lived.folder / TOUCHED[3]
    captions.write_text(captions.read_text() + CAPTION)
    notes = pd.read_parquet(lived.folder / "data" / "filter" / "notes.parquet")["note"]
    assert rebuilt(lived) == {"characters": pytest.approx(notes.str.len().mean(), rel=1e-5)}
    assert changed_files(lived) == TOUCHED
    stages = read_pipeline(lived.folder / "dvc.yaml")
    assert "note_length" in with_dependents(stages, ["filter"]) and "report" in with_dependents(stages, ["note_length"])


@pytest.mark.soak
def test_the_checks_of_the_repository_accept_it(lived: Clone) -> None:
    tests = ["tests/architecture/test_drift.py", "tests/architecture/test_params.py"]
    lived.run("pytest", "-q", "-n0", "-k", "not a_default_is_the_value", *tests)  # its params are smaller
    lived.run("ruff", "check", "-q", *TOUCHED[1:3])


@pytest.mark.soak
def test_a_new_metric_takes_two_files(lived: Clone) -> None:
    lived.commit("stage")
    row = 'mean_row("characters", lengths, bounds=COUNT, seed=seed)'
    more = f'{row}, mean_row("lines", notes["note"].str.count("\\n") + 1, bounds=COUNT, seed=seed)'
    change(lived.folder / TOUCHED[2], row, more)
    described = "    characters: mean number of characters\n"
    change(lived.folder / TOUCHED[3], described, f"{described}    lines: mean number of lines\n")
    assert list(rebuilt(lived)) == ["characters", "lines"]
    assert changed_files(lived) == TOUCHED[2:]
    lived.commit("metric")


def missing_requests(clone: Clone) -> list[dict[str, Any]]:
    """The requests that a rebuild of `write` lacks replies to; it stops for want of them."""
    said = clone.vignette("store", "missing", "--out", "batch.jsonl", "write").stdout
    if "no request is missing" in said:
        return []
    assert "requests to the writer" in said
    return [json.loads(line) for line in (clone.folder / "batch.jsonl").read_text().splitlines()]


@pytest.mark.soak
def test_a_batch_answers_what_the_stages_of_another_writer_lack(lived: Clone, tmp_path: Path) -> None:
    note, results = "**History**\nHe coughs.\n\n**Physical Examination**\nLungs clear.", tmp_path / "results.jsonl"
    with hosted(lambda body, _: completion(note, body)) as endpoint:
        lived.set_params(roles__writer__base_url=endpoint.base_url)
        lived.vignette("probe", "--role", "writer")
        probed = len(endpoint.bodies)
        while lines := missing_requests(lived):
            replies = {line["custom_id"]: completion(note, line["body"]) for line in lines}
            answers = [
                {"custom_id": key, "response": {"status_code": 200, "body": body}} for key, body in replies.items()
            ]
            results.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
            assert f"{len(replies)} replies added" in lived.vignette("store", "import", str(results)).stdout
        assert len(endpoint.bodies) == probed
    assert set(pd.read_parquet(lived.folder / "data" / "write" / "first_notes.parquet")["note"]) == {note}
