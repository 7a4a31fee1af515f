"""The wheel, installed into an environment of its own, evaluates from an empty folder outside any clone."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.dataset.test_export import export_files
from tests.support.imports import ROOT
from tests.support.repository import write_files

pytestmark = pytest.mark.soak

SHIPPED = ("params.yaml", "CITATION.cff")
PACKAGED = ("flows", "tasks", "schemas", *SHIPPED, "pyproject.toml", "README.md", "vignette.py", "LICENSE")
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
        source, copy = ROOT / name, folder / name
        ignored = shutil.ignore_patterns("__pycache__")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, copy, ignore=ignored) if source.is_dir() else shutil.copy(source, copy)
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


def test_the_wheel_holds_every_file_of_the_packages_and_what_they_read_beside(wheel: Path) -> None:
    listed = subprocess.check_output(["git", "ls-files", "flows", "tasks", "schemas"], cwd=ROOT, text=True).split()
    names = zipfile.ZipFile(wheel).namelist()
    assert set(listed) <= set(names), sorted(set(listed) - set(names))[:5]
    for path in SHIPPED:
        (shipped,) = [name for name in names if name.endswith(f"share/vignette/{path}")]
        assert zipfile.ZipFile(wheel).read(shipped) == (ROOT / path).read_bytes()
    assert "vignette.py" in names and not any(name.startswith("tests/") for name in names)


@pytest.mark.parametrize("where", ["target", "prefix"])
def test_its_files_are_found_wherever_it_is_installed(wheel: Path, tmp_path: Path, where: str) -> None:
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", f"--{where}", str(tmp_path / "p")]
    subprocess.run([*pip, "--ignore-installed", str(wheel)], check=True, capture_output=True)
    (code,) = (tmp_path / "p").glob("**/flows/repository")
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(code.parents[1])}
    read = "from flows.repository.workspace import params_file; print(params_file())"
    done = subprocess.run([sys.executable, "-c", read], cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.returncode == 0 and Path(done.stdout.strip()).is_relative_to(tmp_path), done.stdout + done.stderr


def test_it_works_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """Run every command that needs no clone, in a folder outside any clone, with a user's cache of its own."""
    here, cache = tmp_path / "here", tmp_path / "cache"
    here.mkdir()
    (here / "cases.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (here / "pilot.csv").write_text("document,score\n" + "".join(f"d{n},{n % 4 / 4}\n" for n in range(12)))
    (here / "scores.csv").write_text("id,human,metric\n" + "".join(f"d{n},{n % 4},{n % 3}\n" for n in range(12)))
    write_files(here / "dataset", export_files())
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CACHE_HOME": str(cache)}

    def run(command: str) -> "subprocess.CompletedProcess[str]":
        name, *words = shlex.split(command)
        words = [str(installed / "bin" / name), *words]
        return subprocess.run(words, cwd=here, env=variables, capture_output=True, text=True, check=False)

    def printed(command: str) -> str:
        done = run(command)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "claim recall" in printed("vignette evaluate cases.jsonl --out out --metrics doclens --judge simulator")
    assert (here / "out" / "report.html").is_file()
    assert "version" in json.loads((here / "out" / "manifest.json").read_text())["code"]
    assert (cache / "vignette" / "responses.sqlite").is_file()
    assert "half width" in printed("vignette plan pilot.csv --documents 20")
    assert "sensitivity" in printed("vignette audit simulator --cases 12 --tasks claims --takes 1")
    assert "pearson" in printed("vignette agreement scores.csv --human human")
    assert "notes with" in printed("vignette exchange write brat --dataset dataset --out brat")
    assert "new: 0" in printed("vignette exchange read brat brat --dataset dataset --out spans.csv")
    written = ["audit", "brat", "cases.jsonl", "dataset", "out", "pilot.csv", "scores.csv", "spans.csv"]
    assert sorted(path.name for path in here.iterdir()) == written
    for command in ("evaluate", "audit", "plan", "exchange"):
        assert f"Usage: vignette {command}" in printed(f"vignette {command} --help")
    for command in ("vignette repro", "vignette exchange write brat --out x", "vignette exchange publish me/notes"):
        refused = run(command)
        assert refused.returncode == 1 and "no clone of vignette here" in refused.stderr, refused.stderr
        assert len(refused.stderr.splitlines()) == 1
    assert sorted(path.name for path in here.iterdir()) == written
    held = sorted(path.name for path in tmp_path.iterdir())
    assert held == ["cache", "here"], "state is in the user's cache folder alone"
    code = "import flows, vignette; print(flows.__file__, vignette.evaluate.__module__)"
    told = printed(f"python -c {shlex.quote(code)}")
    assert str(installed) in told and "flows.evaluation.api" in told
