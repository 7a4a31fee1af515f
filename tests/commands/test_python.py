"""The functions of the module `vignette`: notes, plans and audits from Python."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import vignette
from schemas.errors import ParamsError
from tests.support.imports import ROOT

DOCUMENT = {"id": "1", "source": "Dry cough. No fever.", "reference": "Dry cough.", "output": "Dry cough."}


def test_notes_are_loaded_as_evaluate_takes_them(tmp_path: Path) -> None:
    (file := tmp_path / "one.jsonl").write_text(json.dumps(DOCUMENT) + "\n")
    notes = vignette.load_notes(file)
    assert notes["id"].tolist() == ["1"] and notes["source"].tolist() == [[DOCUMENT["source"]]]
    found = vignette.evaluate(notes, metrics=["overlap"]).metrics.set_index("metric")
    assert found.loc["rouge1_f", "value"] == 1.0 and found.loc["rouge1_f", "n"] == 1


def test_a_plan_has_the_notes_that_a_half_width_needs() -> None:
    made = vignette.plan("note=0.04", half_width=0.05, bounds=None)
    assert 62 <= made.loc[made["chosen"], "notes"].item() <= 66  # (1.96 * 0.2 / 0.05)^2 = 61.5; Student's t: few more


def test_a_plan_without_a_target_is_refused() -> None:
    with pytest.raises(ParamsError, match="expected a half width"):
        vignette.plan("note=0.04")


def test_an_audit_returns_the_card_of_the_rules() -> None:
    card = vignette.audit(cases=20, tasks=["claims"], takes=1)
    assert {"sensitivity", "specificity"} <= set(card["metric"]) and (card["n"] > 0).any()
    with pytest.raises(ParamsError, match="a list of judges"):
        vignette.audit("simulator")


HEAVY = ("pandas", "torch", "prefect", "nltk", "openai", "scipy")
RUN = "from flows.commands.cli import run; assert run({}) == 1\n"
WRONG = (
    ["evaluate", "pyproject.toml", "--metrics", "none"],
    ["evaluate", "pyproject.toml", "--judge", "none"],
    ["evaluate", "no-such-file.jsonl"],
)
"""Commands that are refused."""


@pytest.mark.parametrize(
    ("code", "left_out"),
    [
        ("import vignette; dir(vignette)\n" + "".join(map(RUN.format, WRONG)), HEAVY),
        ("import vignette; vignette.evaluate", ("torch", "prefect")),
    ],
)
def test_no_framework_is_imported_before_it_is_needed(code: str, left_out: tuple[str, ...]) -> None:
    code = f"import sys\n{code}\nfound = set({left_out}) & set(sys.modules)\nassert not found, found"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_an_unknown_function_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        vignette.evalute  # type: ignore[attr-defined]  # noqa: B018
