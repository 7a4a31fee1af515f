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
