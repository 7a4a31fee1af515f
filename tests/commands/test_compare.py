"""`vignette compare`: which lineages it compares, where it writes, and what it says of stages that did not run."""

from pathlib import Path

import pytest

from flows.commands.parser import run
from tests.support.cases import each

FOUR = "prompt write filter span"


@each(
    "names, waiting, stale, said",
    [
        ("a b c", FOUR, "", ""),
        ("a workspace", "", "span", ""),
        ("a workspace", FOUR, "", "4 stages (prompt, write, filter, span)"),
        ("a workspace", f"{FOUR} x@a", "span x y", "5 stages (prompt, write, filter, span, ...)"),
    ],
)
def test_the_first_is_compared_with_the_others_and_stages_that_did_not_run_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], names: str, waiting: str, stale: str, said: str
) -> None:
    monkeypatch.setattr("flows.commands.compare.root", lambda: Path("root"))
    monkeypatch.setattr("flows.lineage.lineage.find_lineage", lambda name, pipeline: f"{name} of {pipeline}")
    monkeypatch.setattr("flows.lineage.comparing.compare_lineages", lambda *given, null: [[*given, null]])
    monkeypatch.setattr("flows.rebuild.plan.stages_to_run", lambda pipeline: waiting.split())
    monkeypatch.setattr(
        "flows.repository.code.StageCode.changed", lambda _: {Path(f"{one}.json"): "" for one in stale.split()}
    )
    others = [f"{name} of dvc.yaml" for name in names.split()[1:]]
    for options, written in {"": "root/reports/comparisons, records", "--out o --null redraws": "o, redraws"}.items():
        assert run(["compare", *names.split(), *options.split()]) == 0
        printed = capsys.readouterr().out
        assert printed.endswith(f"\nwritten: a of dvc.yaml, {others}, {written}\n")
        assert printed.startswith(f"workspace: compared as dvc.lock says; {said} did not run" if said else "\nwritten")
        assert ("; the code of span, x changed: run vignette repro --pipeline dvc.yaml first" in printed) == bool(
            said and stale
        )
