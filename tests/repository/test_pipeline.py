"""All paths come from dvc.yaml, and a stage can access only files that it declares there."""

from pathlib import Path

import pytest
import yaml

from flows.rebuild.plan import stages_to_run
from flows.repository.cache import restore_outputs
from flows.repository.pipeline import stage_files
from schemas.errors import SourceError, VignetteError
from tests.support.imports import ROOT
from tests.support.repository import commit, git, keep

PIPELINE = {
    "stages": {
        "sample": {"cmd": "x", "deps": ["tasks/network"], "outs": ["data/sample/records.parquet"]},
        "count": {
            "cmd": "x",
            "deps": ["data/sample/records.parquet"],
            "metrics": [{"reports/tables/counts.csv": {"cache": False}}],
        },
    }
}


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    file = tmp_path / "dvc.yaml"
    file.write_text(yaml.safe_dump(PIPELINE))
    return file


def test_files_are_found_by_stem(pipeline: Path) -> None:
    files = stage_files(pipeline, "count")
    assert files.dep("records") == Path("data/sample/records.parquet")
    assert files.out("counts") == Path("reports/tables/counts.csv")


def test_files_with_the_same_stem_are_distinguished_by_folder(pipeline: Path) -> None:
    deps = ["reports/reproduction.csv", "reports/published/reproduction.csv", "tasks/prompts", "data/prompts.csv"]
    pipeline.write_text(yaml.safe_dump({"stages": {"report": {"cmd": "x", "deps": deps}}}))
    files = stage_files(pipeline, "report")
    assert files.dep("published/reproduction") == Path("reports/published/reproduction.csv")
    assert files.dep("reports/reproduction") == Path("reports/reproduction.csv")
    assert files.dep("prompts") == Path("data/prompts.csv")


def test_an_undeclared_file_is_refused(pipeline: Path) -> None:
    with pytest.raises(VignetteError, match="no 'spans' among its deps"):
        stage_files(pipeline, "count").dep("spans")
    with pytest.raises(VignetteError, match="no stage 'write'; it has count, sample"):
        stage_files(pipeline, "write")


def test_a_failed_stage_gets_its_last_outputs_back(pipeline: Path) -> None:
    content = b"the last good table"
    md5 = keep(pipeline.parent / ".dvc" / "cache", content)
    (pipeline.parent / ".dvc" / "config").write_text("[core]\n    no_scm = true\n")
    lock = {"stages": {"sample": {"outs": [{"path": "data/sample/records.parquet", "md5": md5}]}}}
    pipeline.with_suffix(".lock").write_text(yaml.safe_dump(lock))

    assert restore_outputs(pipeline, "sample") == [Path("data/sample/records.parquet")]
    assert Path("data/sample/records.parquet").read_bytes() == content

    Path("data/sample/records.parquet").write_bytes(b"newer")
    assert restore_outputs(pipeline, "sample") == []
    assert Path("data/sample/records.parquet").read_bytes() == b"newer"

    git(pipeline.parent, "init", "-q")
    commit(pipeline.parent, "one", "data", "dvc.yaml")
    pipeline.with_suffix(".lock").write_text("")
    Path("data/sample/records.parquet").unlink()
    assert restore_outputs(pipeline, "sample") == [Path("data/sample/records.parquet")], "what git has"
    assert Path("data/sample/records.parquet").read_bytes() == b"newer"


@pytest.mark.timeout(60)
def test_a_device_among_returned_files_is_named_before_dvc_reads_it(pipeline: Path) -> None:
    (pipeline.parent / ".dvc").mkdir()
    (pipeline.parent / ".dvc" / "config").write_text("[core]\n    no_scm = true\n")
    pipeline.write_text(yaml.safe_dump({"stages": {"review": {"cmd": "x", "deps": ["returned/forms"]}}}))
    form = Path("returned/forms/a.json")
    form.parent.mkdir(parents=True)
    form.symlink_to("/dev/zero")
    with pytest.raises(SourceError, match=r"returned/forms/a\.json: neither a file nor a folder; remove it"):
        stages_to_run(pipeline)
