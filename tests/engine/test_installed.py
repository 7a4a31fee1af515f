"""The wheel, installed into an environment of its own, evaluates from an empty folder outside any clone."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.support.imports import ROOT

PACKAGED = ("flows", "tasks", "schemas", "params.yaml", "pyproject.toml", "README.md", "vignette.py", "LICENSE")
ROWS = [
    {"id": f"d{n}", "source": "Dry cough for a week. No fever.", "reference": "Dry cough. No fever.",
     "outputs": {"mine": "Dry cough."}}
    for n in range(3)
]  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the tree, built from a copy, since a build writes beside its sources."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in PACKAGED:
        source = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / name, ignore=ignored) if source.is_dir() else shutil.copy(source, folder)
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", "dist", "."]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    (found,) = (folder / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel alone, which finds the libraries of this one."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    found = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    Path(found.strip(), "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def test_the_wheel_holds_every_file_of_the_packages_and_the_params(wheel: Path) -> None:
    listed = subprocess.check_output(["git", "ls-files", "flows", "tasks", "schemas"], cwd=ROOT, text=True).split()
    names = zipfile.ZipFile(wheel).namelist()
    assert set(listed) <= set(names), sorted(set(listed) - set(names))[:5]
    (params,) = [name for name in names if name.endswith("share/vignette/params.yaml")]
    assert zipfile.ZipFile(wheel).read(params) == (ROOT / "params.yaml").read_bytes()
    assert "vignette.py" in names and not any(name.startswith("tests/") for name in names)


def test_it_evaluates_and_plans_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    here, cache = tmp_path / "here", tmp_path / "cache"
    here.mkdir()
    (here / "cases.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CACHE_HOME": str(cache)}

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [str(installed / "bin" / words[0]), *words[1:]]
        return subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)

    done = run("vignette", "evaluate", "cases.jsonl", "--out", "out", "--metrics", "doclens")
    assert done.returncode == 0, done.stderr
    assert "claim recall" in done.stdout and (here / "out" / "report.html").is_file()
    assert "version" in json.loads((here / "out" / "manifest.json").read_text())["code"]
    assert sorted(path.name for path in here.iterdir()) == ["cases.jsonl", "out"]
    assert (cache / "vignette" / "responses.sqlite").is_file()
    planned = run("vignette", "plan", "evaluate", "--components", "note=0.02", "--half-width", "0.05")
    assert planned.returncode == 0 and "cheapest" in planned.stdout, planned.stderr
    assert run("vignette", "prompts", "list").returncode == 0
    refused = run("vignette", "repro")
    assert refused.returncode == 1 and "no clone of vignette here or above" in refused.stderr
    code = "import flows, vignette; print(flows.__file__, vignette.evaluate.__module__)"
    told = run("python", "-c", code)
    assert str(installed) in told.stdout and "flows.evaluation.api" in told.stdout
