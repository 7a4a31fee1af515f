"""What the lineage of a working tree is recorded with."""

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from flows.lineage.recording import gather
from flows.repository.kept_runs import keep_run
from tasks.tracking.lineage import StageRun, read_lineage
from tests.support.imports import ROOT
from tests.support.repository import commit, git, write_files


def test_the_recording_of_a_working_tree_is_what_its_files_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setenv("VIGNETTE_WORKSPACE", str(tmp_path / "state"))
    identity = {"asked": "gpt-4o", "answered": "gpt-4o-2024"}
    judge = {"identity": identity, "epoch": 3, "canaries": ["long"]}
    table = Path("reports/tables/doclens.csv")
    stages = {"sample": {"outs": ["a.parquet"]}, "doclens": {"metrics": [{str(table): {"cache": False}}, "absent.csv"]}}
    files = {
        "pyproject.toml": (ROOT / "pyproject.toml").read_bytes(),
        "dvc.yaml": yaml.safe_dump({"stages": stages}),
        "fingerprints/judge.json": json.dumps(judge),
        "reports/metrics.json": json.dumps({"doclens": {"claim_recall": 0.9}, "own": {"figure": 1.0}}),
        str(table): "value\n0.9\n",
    }
    write_files(tmp_path, files)
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    outs = [{"path": str(table), "md5": hashlib.md5(table.read_bytes()).hexdigest()}]
    lineage = read_lineage({"stages": {"sample": {"outs": []}, "doclens": {"outs": outs}}})
    keep_run("doclens", [table], StageRun(2.0), [])
    found, revision = gather(lineage), git(tmp_path, "rev-parse", "HEAD")
    assert found.name == f"{revision[:7]} unknown/gpt-4o-2024" and found.models == {"judge": "gpt-4o-2024"}
    assert found.headlines["doclens"] == {"claim_recall": 0.9} and found.headline_stages == {"doclens": "doclens"}
    assert found.runs == {"doclens": StageRun(2.0)} and found.tables == [table]
    assert (found.files, found.tags["git.revision"], found.tags["git.dirty"]) == ({}, revision, "false")
    assert json.loads(found.tags["fingerprint.judge"]) == {"identity": identity, "epoch": 3}
    write_files(tmp_path, {"reports/index.html": "", "dvc.yaml": files["dvc.yaml"] + "\n"})
    found = gather(lineage)
    assert found.files == {"report": Path("reports/index.html")} and found.tags["git.dirty"] == "true"
    behind = {"outs": [], "deps": [{"path": str(table), "md5": "0" * 32}]}
    found = gather(read_lineage({"stages": {"doclens": {"outs": outs}, "headlines": behind}}))
    assert (found.headlines, found.files) == ({}, {}), "figures and report are of an earlier lineage"
