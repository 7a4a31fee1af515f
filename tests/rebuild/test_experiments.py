"""An experiment with another model builds the lineage of that model, with no probe by hand."""

import json
from pathlib import Path

import pytest
import yaml

from flows.rebuild.server import access, ensure_server
from flows.repository.workspace import WORKSPACE
from tests.support.clone import Clone

pytestmark = pytest.mark.dag

OTHER = "vignette-writer-calibration"
CHANGE = f"roles.judge.model={OTHER}"


class OfServer(Clone):
    """A clone whose stages use a server that runs."""

    server: dict[str, str]

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, **self.server}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, served: Path) -> Clone:
    """A clone that has only the stage `probe` and, in place of all that ask the judge, one that copies its identity."""
    folder = tmp_path_factory.mktemp("experiments") / "clone"
    found = OfServer(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(WORKSPACE, str(served))
        found.server = {"PREFECT_API_URL": ensure_server(), "PREFECT_API_AUTH_STRING": access()}
    probe = yaml.safe_load((folder / "dvc.yaml").read_text())["stages"]["probe"]
    judged = {
        "cmd": "cp fingerprints/judge.json judged.json",
        "deps": ["fingerprints/judge.json"],
        "params": ["roles.judge"],
        "outs": [{"judged.json": {"cache": False}}],
    }
    shown = {"cmd": "cp judged.json shown.json", "deps": ["judged.json"], "outs": ["shown.json"]}
    stages = {"probe": probe, "judged": judged, "shown": shown}
    (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}, sort_keys=False))
    (folder / "dvc.lock").unlink()
    (folder / "reports" / "published" / "dvc.yaml").unlink()
    found.run("dvc", "repro", "shown")
    found.commit("built")
    return found


def judged_by(content: str) -> str:
    return str(json.loads(content)["identity"]["asked"])


def stages_run(output: str) -> list[str]:
    return [line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage")]


@pytest.mark.soak
def test_a_queued_experiment_probes_in_its_own_copy(clone: Clone) -> None:
    done = clone.run("dvc", "exp", "run", "--temp", "--name", "other-judge", "--set-param", CHANGE, "shown")
    assert stages_run(done.stdout) == ["probe@judge", "judged", "shown"]
    (reference,) = [line for line in clone.git("for-each-ref", "refs/exps").split() if line.endswith("other-judge")]
    assert judged_by(clone.git("show", f"{reference}:judged.json")) == OTHER
    assert judged_by(clone.git("show", f"{reference}:fingerprints/judge.json")) == OTHER
    assert clone.git("status", "--porcelain", "--untracked-files=no") == ""


@pytest.mark.soak
def test_an_experiment_in_the_workspace_and_the_way_back(clone: Clone) -> None:
    there = clone.run("dvc", "exp", "run", "--set-param", CHANGE, "shown")
    assert stages_run(there.stdout)[:2] == ["probe@judge", "judged"]
    assert judged_by((clone.folder / "shown.json").read_text()) == OTHER
    back = clone.run("dvc", "exp", "run", "--set-param", "roles.judge.model=vignette-judge", "shown")
    assert stages_run(back.stdout)[:2] == ["probe@judge", "judged"]
    assert judged_by((clone.folder / "shown.json").read_text()) == "vignette-judge"
    assert "up to date" in clone.run("dvc", "repro", "shown").stdout


def test_a_probe_by_hand_is_taken_over_without_another_one(clone: Clone) -> None:
    file = clone.folder / "fingerprints" / "judge.json"
    before = file.read_text()
    file.write_text(json.dumps(json.loads(before) | {"epoch": 1}, indent=2) + "\n")
    written = file.read_bytes()
    plan = clone.vignette("repro", "--dry-run", "shown").stdout
    assert "judge: vignette-judge, taken for unchanged, as no model is asked\n" in plan
    assert "would rebuild: probe@judge, judged, shown\n" in plan and file.read_bytes() == written, (
        "a dry run writes nothing"
    )
    done = clone.run("dvc", "repro", "judged")
    assert stages_run(done.stdout) == ["probe@judge", "judged"]
    assert "is of vignette-judge, not probed" in done.stdout
    assert json.loads((clone.folder / "judged.json").read_text())["epoch"] == 1
