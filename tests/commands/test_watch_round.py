"""What a round of the watch does and says, with a tree whose commands are scripted."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows.commands import watch_round
from flows.commands.watch_round import RoundOutcome
from flows.repository.params import load_params
from schemas.errors import VignetteError
from tests.support.imports import ROOT


@dataclass
class ScriptedTree:
    """A tree in which the answers to git and to commands are given; ``ran`` has what was run or committed."""

    changed: tuple[str, ...] = ()
    moved: bool = False
    before: str | None = "lineage/a"
    statuses: dict[str, int] = field(default_factory=dict)
    problem: str = ""
    ran: list[str] = field(default_factory=list)
    branch: str = "main"
    folder: Path = Path("tree")

    def reset(self) -> bool:
        return self.moved

    def run(self, _: str, command: str, *options: str) -> int:
        self.ran.append(command)
        return self.statuses.get(command, 0)

    def changed_roles(self) -> list[str]:
        return list(self.changed)

    def edited_roles(self) -> list[str]:
        return ["annotator", "writer"]

    def tip(self) -> str | None:
        return self.before

    def commit(self, message: str, tag: str) -> str:
        self.ran.append(f"{message} [{tag}]")
        return "c0ffee"

    def keep(self) -> None:
        self.ran.append("keep")

    def push_pending(self) -> str:
        self.ran.append("push pending")
        return ""

    def push(self, tag: str) -> str:
        self.ran.append(f"push {tag}")
        return self.problem


@dataclass(frozen=True)
class Side:
    """A lineage under a name."""

    name: str
    lineage: Any


def lineage_at(tag: str) -> Side:
    """The lineage whose id the tag ends with."""
    return Side(tag, SimpleNamespace(id=tag[-1]))


def round_of(monkeypatch: pytest.MonkeyPatch, tree: Any, *, dry_run: bool = False, push: bool = False) -> RoundOutcome:
    """A round after which the lineage is b; the last one was ``a``."""
    monkeypatch.setattr(watch_round, "find_lineage", lineage_at)
    monkeypatch.setattr(watch_round, "current_lineage", lambda _: SimpleNamespace(id="b"))
    monkeypatch.setattr(watch_round, "run_name", lambda *_: "c0ffee")
    monkeypatch.setattr(watch_round, "recorded_lineages", lambda: SimpleNamespace(rename=lambda *_: None))
    monkeypatch.setattr(watch_round, "_compare", lambda before, after: f"{before} compared with {after}")
    params = load_params(ROOT / "params.yaml")
    params = params.model_copy(update={"watch": params.watch.model_copy(update={"push": push})})
    return watch_round._round(params, tree, dry_run)


def test_a_changed_model_is_rebuilt_committed_and_compared_with_the_lineage_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = ScriptedTree(("judge",))
    outcome = round_of(monkeypatch, tree)
    said = "a -> b, tag lineage/b, lineage/a compared with lineage/b"
    assert outcome == RoundOutcome("rebuilt", ("judge",), said, "b")
    assert tree.ran == ["probe", "checkout", "repro", "Lineage b: judge [lineage/b]", "keep"]


def test_the_same_artefacts_are_the_lineage_before(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = ScriptedTree(("judge",), before="lineage/b")
    outcome = round_of(monkeypatch, tree, push=True)
    assert outcome == RoundOutcome("unchanged", ("judge",), "same artefacts as before", "b")
    assert tree.ran[-2:] == ["Same lineage b: judge [lineage/b]", "keep"]


def test_new_commits_are_a_cause_and_roles_that_they_edit_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = ScriptedTree(("writer", "annotator", "judge"), moved=True)
    assert round_of(monkeypatch, tree).causes == ("branch main", "judge")


def test_a_failed_rebuild_adds_no_lineage(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = ScriptedTree(("judge",), statuses={"repro": 1})
    assert round_of(monkeypatch, tree).state == "failed" and tree.ran == ["probe", "checkout", "repro"]


def test_a_dry_run_says_what_would_run_and_commits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = ScriptedTree(("judge",))
    found = round_of(monkeypatch, tree, dry_run=True, push=True)
    assert found == RoundOutcome("would rebuild", ("judge",), "what is listed above"), "which may be nothing"
    assert tree.ran == ["probe", "checkout", "repro"]
    failed = round_of(monkeypatch, ScriptedTree(("judge",), statuses={"repro": 1}), dry_run=True)
    assert failed.state == "failed" and "what would be rebuilt is not known" in failed.detail


@pytest.mark.parametrize(("problem", "said"), [("", ""), ("remote gone", ", not pushed: remote gone")])
def test_a_lineage_that_cannot_be_pushed_is_said(monkeypatch: pytest.MonkeyPatch, problem: str, said: str) -> None:
    tree = ScriptedTree(("judge",), before=None, problem=problem)
    outcome = round_of(monkeypatch, tree, push=True)
    assert outcome.detail == f"the first lineage, b, tag lineage/b{said}, to compare: vignette compare HEAD lineage/b"
    assert "push lineage/b" in tree.ran


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (None, "comparison in reports/comparisons/a-b.html"),
        (VignetteError("no tables"), "not compared: no tables"),
        (ValueError("a defect"), "not compared: unexpected ValueError: a defect"),
    ],
)
def test_a_comparison_that_fails_is_said_since_the_lineage_is_committed(
    monkeypatch: pytest.MonkeyPatch, problem: Exception | None, said: str
) -> None:
    def compare(a: Side, others: list[Side], folder: Path) -> list[list[Path]]:
        if problem:
            raise problem
        return [[folder / f"{a.name}-{others[0].name}.html"]]

    monkeypatch.setattr(watch_round, "find_lineage", lineage_at)
    monkeypatch.setattr(watch_round, "compare_lineages", compare)
    assert watch_round._compare("lineage/a", "lineage/b") == said
