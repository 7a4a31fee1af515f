"""The watch as a user runs it: a Prefect server, a served schedule, and an endpoint whose models are exchanged.

Stages that depend on the model, and no others, are rebuilt in the watch's tree, each lineage is committed, tagged and
pushed, and the comparison names the change. Rounds fail, servers and workers are killed and the disk is full in
between: every change is rebuilt once, and no reply is paid twice. The tests are one history and run in their order.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path

import pandas as pd
import pytest
import yaml

from flows.repository.pipeline import read_pipeline, with_dependents
from schemas.tables.people import SCALES
from tasks.people.rating_form import RatingForm
from tests.support.clone import Clone
from tests.support.watched import Watched, watching

pytestmark = pytest.mark.soak

IN_FLIGHT = 64
"""Replies that may have been on their way when a worker was killed."""


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watching(tmp_path_factory.mktemp("watch")) as found:
        yield found


def depending(clone: Clone, role: str) -> set[str]:
    """The stage that probes the role, those that call it, and those that depend on these, from dvc.yaml alone."""
    return set(with_dependents(read_pipeline(clone.folder / "dvc.yaml"), [f"probe@{role}"]))


def named_page(watched: Watched, said: str) -> str:
    """The page named by the watch; its table must exist as well."""
    page = watched.clone.folder / said.split("comparison in ")[1].strip()
    assert page.parent == watched.clone.folder / "reports" / "comparisons"
    assert page.with_suffix(".csv").exists()
    return page.read_text()


def test_another_judge_rebuilds_evaluation_only(watched: Watched) -> None:
    notes = ("data/write/first_notes.parquet", "data/filter/notes.parquet", "data/compact/compact_notes.parquet")
    kept = [(watched.tree / name).read_bytes() for name in notes]
    said, stages = watched.rebuilt_after("judge", "vignette-judge@2")
    assert "(judge)" in said
    allowed = depending(watched.clone, "judge")
    assert {"doclens", "med_omit", "note_qa", "review", "report"} <= stages <= allowed
    assert not allowed & {"sample", "prompt", "write", "filter", "compact", "span", "embed", "baselines"}
    assert [(watched.tree / name).read_bytes() for name in notes] == kept
    page = named_page(watched, said)
    assert "answered vignette-judge@2" in page and "doclens" in page


def test_a_failed_rebuild_adds_no_lineage_and_rounds_do_not_overlap(watched: Watched) -> None:
    before, seen, start = watched.clone.git("rev-parse", "lineages"), len(watched.outcomes()), len(watched.sent())
    # The annotator's rules do not serve the answerer's tasks: every call of note_qa is refused.
    watched.exchange("answerer", "vignette-annotator")
    watched.wait_until_rebuilding()
    second = watched.clone.vignette("watch", "once", check=False)
    said = watched.wait_for("failed", seen)
    watched.exchange("answerer", "vignette-answerer")
    watched.wait_for("unchanged", len(watched.outcomes()))
    watched.refused.append((start, len(watched.sent())))
    assert "skipped: another round of the watch is in progress" in second.stdout
    assert "(answerer)" in said and "no lineage was added" in said
    assert watched.clone.git("rev-parse", "lineages") == before


def test_a_returned_form_is_a_change_of_the_branch(watched: Watched) -> None:
    drawn = pd.read_parquet(watched.tree / "data" / "review" / "review_notes.parquet")
    ratings = {"penalties": {}, "ratings": dict.fromkeys(SCALES, 5), "comment": ""}
    notes = [{"record": int(record), **ratings} for record in drawn["record"]]
    form = {"format": RatingForm.format, "form": RatingForm(drawn, []).id, "rater": "rater_1", "notes": notes}
    seen = len(watched.outcomes())
    (watched.clone.folder / "returned" / "review_returned" / "rater_1.json").write_text(json.dumps(form))
    watched.clone.git("add", "returned")
    watched.clone.git("commit", "-qm", "a returned form")
    assert "(branch HEAD)" in watched.wait_for("rebuilt", seen)
    review = pd.read_csv(watched.tree / "reports" / "tables" / "review.csv")
    assert "people" in set(review["system"])


def test_a_killed_prefect_server_is_started_again(watched: Watched) -> None:
    watched.kill_server()
    said, stages = watched.rebuilt_after("judge", "vignette-judge@3")
    assert "(judge)" in said and "doclens" in stages


def test_a_killed_worker_is_started_again_and_its_rebuild_resumed(watched: Watched) -> None:
    seen = len(watched.outcomes())
    watched.exchange("answerer", "vignette-answerer@2")
    watched.wait_until_rebuilding(stages=2)
    watched.kill_rounds()
    assert "(answerer)" in watched.wait_for("rebuilt", seen)


def test_a_rebuild_on_a_full_disk_fails_and_is_repeated_when_there_is_room(watched: Watched) -> None:
    if not os.path.ismount(watched.disk):
        pytest.skip("only root can mount a separate disk")
    before, seen = watched.clone.git("rev-parse", "lineages"), len(watched.outcomes())
    watched.exchange("answerer", "vignette-answerer@3")
    watched.wait_until_rebuilding()
    with watched.full_disk():
        assert "(answerer)" in watched.wait_for("failed", seen)
    assert watched.clone.git("rev-parse", "lineages") == before
    assert "(answerer)" in watched.wait_for("rebuilt", seen)


def test_another_writer_rebuilds_what_depends_on_it_and_skips_the_form_of_older_notes(watched: Watched) -> None:
    said, stages = watched.rebuilt_after("writer", "vignette-writer-calibration")
    assert "(writer)" in said
    assert {"write", "filter", "compact", "span", "doclens", "baselines", "report"} <= stages
    assert stages <= depending(watched.clone, "writer")
    assert not stages & {"sample", "network", "prompt", "split", "baseline_bn_tab", "baseline_xgboost_tab"}
    assert "answered vignette-writer-calibration" in named_page(watched, said)
    assert "rater_1.json was filled in for form" in watched.said()
    review = pd.read_csv(watched.tree / "reports" / "tables" / "review.csv")
    assert set(review["system"]) == {"model"}


def test_every_change_was_rebuilt_once(watched: Watched) -> None:
    causes = [line.split("(")[1].split(")")[0] for line in watched.outcomes("rebuilt")]
    full = ["answerer"] if os.path.ismount(watched.disk) else []
    assert causes == ["branch HEAD", "judge", "branch HEAD", "judge", "answerer", *full, "writer"]
    assert len(watched.clone.git("tag", "--list", "lineage/*").split()) == len(causes)


def test_no_reply_was_paid_twice(watched: Watched) -> None:
    assert watched.paid_twice().total() <= IN_FLIGHT


def test_every_lineage_is_restored_in_a_fresh_clone_by_git_clone_and_dvc_pull(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "vignette-dvc-remote").symlink_to(watched.disk / "vignette-dvc-remote")
    for number, tag in enumerate(watched.clone.git("tag", "--list", "lineage/*").split()):
        folder = tmp_path / str(number)
        source = str(watched.clone.folder)
        subprocess.run(["git", "clone", "-q", "--branch", tag, source, str(folder)], check=True, capture_output=True)
        pulled = subprocess.run([sys.executable, "-m", "dvc", "pull", "--quiet"], cwd=folder, check=False)
        assert pulled.returncode == 0, tag
        stages = yaml.safe_load((folder / "dvc.lock").read_text())["stages"].values()
        outs = [out for stage in stages for out in stage.get("outs", []) if not out["md5"].endswith(".dir")]
        assert len(outs) > 50
        assert [out["path"] for out in outs if md5((folder / out["path"]).read_bytes()).hexdigest() != out["md5"]] == []
