"""What `vignette repro` prints at its end."""

import pytest

from flows.commands.repro import print_end
from flows.rebuild.plan import STARTED
from flows.runtime.params import load_params
from tests.support.imports import ROOT


def test_the_end_names_duration_stages_key_figures_rules_and_the_next_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv(STARTED, "875")
    monkeypatch.setattr("flows.commands.repro.time.time", lambda: 1000.0)
    print_end(load_params(), ["sample", "write"])
    lines = capsys.readouterr().out.splitlines()
    assert "done in 2 min 5 s: 2 stages (sample, write)" in lines
    figures = [line for line in lines if line.startswith("  ")]
    assert len(figures) >= 8 and all("n\u00a0=\u00a0" in line or line.endswith("exact") for line in figures)
    assert "writer, annotator, judge, answerer: the simulator's rules, no language model" in lines
    assert any(line.startswith("ledger default: 0.00 dollars") for line in lines)
    assert f"report: {ROOT / 'reports' / 'index.html'}" in lines and "vignette compare HEAD workspace" in lines[-1]
