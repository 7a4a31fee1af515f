"""DVC runs the stages whose code means something else, in the workspace and in an experiment, and no others."""

import pytest
import yaml

from tests.rebuild.test_experiments import stages_run
from tests.support.clone import Clone

pytestmark = pytest.mark.dag

FILE = "fingerprints/code/{}.json"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone in which the stages `sample` and `doclens` copy what their code means, and another shows one of them."""
    folder = tmp_path_factory.mktemp("code") / "clone"
    found = Clone(folder)
    names = ("sample", "doclens")
    written = [{FILE.format(name): {"cache": False, "persist": True}} for name in names]
    stages = {"code": {"cmd": "vignette stage code", "deps": ["flows", "tasks", "schemas"], "outs": written}} | {
        name: {"cmd": f"cp {FILE.format(name)} {name}.json", "deps": [FILE.format(name)], "outs": [f"{name}.json"]}
        for name in names
    }
    stages["shown"] = {"cmd": "cp doclens.json shown.json", "deps": ["doclens.json"], "outs": ["shown.json"]}
    (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}, sort_keys=False))
    (folder / "dvc.lock").unlink()
    for pipeline in ("reports/published", "evaluations"):
        (folder / pipeline / "dvc.yaml").unlink()
    found.run("dvc", "repro")
    found.commit("built")
    assert "up to date" in found.run("dvc", "status").stdout
    return found


def edit(clone: Clone, name: str, old: str, new: str) -> None:
    file = clone.folder / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def planned(clone: Clone) -> str:
    return clone.vignette("repro", "--dry-run", "--no-probe").stdout.splitlines()[0]


def test_a_docstring_makes_nothing_stale(clone: Clone) -> None:
    edit(clone, "tasks/statistics/intervals.py", '"""', '"""Further: ')
    assert planned(clone) == "would rebuild: code"
    assert stages_run(clone.run("dvc", "repro").stdout) == ["code"]
    assert "up to date" in clone.run("dvc", "status").stdout
    assert clone.git("status", "--porcelain").split() == ["M", "dvc.lock", "M", "tasks/statistics/intervals.py"]
    clone.commit("edited")


def test_a_prompt_makes_one_stage_stale_in_an_experiment_and_in_the_workspace(clone: Clone) -> None:
    prompt = "tasks/measures/doclens/prompts/subclaims.txt"
    edit(clone, prompt, "\n", "\n\n")
    assert planned(clone) == "would rebuild: code, doclens, shown"
    done = clone.run("dvc", "exp", "run", "--temp", "--name", "prompt")
    assert stages_run(done.stdout) == ["code", "doclens", "shown"]
    assert [line.split()[-1] for line in clone.git("status", "--porcelain").splitlines()] == [prompt]
    assert stages_run(clone.run("dvc", "repro").stdout) == ["code"], "the others are in the run-cache"
    written = (clone.folder / FILE.format("doclens")).read_text()
    assert (clone.folder / "shown.json").read_text() == written
    assert FILE.format("doclens") in clone.git("status", "--porcelain")
    assert FILE.format("sample") not in clone.git("status", "--porcelain")
    assert "up to date" in clone.run("dvc", "status").stdout
