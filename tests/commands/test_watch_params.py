"""Schedule, budget and notification of the watch."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from pydantic import ValidationError

from flows.commands import watch, watch_round
from flows.commands.watch_round import notify, watch_once
from schemas.params.llm import Budget
from schemas.params.runtime import Notify, Watch

EVENING = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)
OUTCOME = {"state": "rebuilt", "causes": ["judge"], "detail": "a -> b", "lineage": "b"}


@pytest.mark.parametrize(
    ("period", "zone", "ledger"),
    [
        (None, "UTC", "watch"),
        ("day", "UTC", "watch 2026-11-30"),
        ("day", "Europe/Brussels", "watch 2026-12-01"),
        ("week", "UTC", "watch 2026-W49"),
        ("month", "Asia/Tokyo", "watch 2026-12"),
    ],
)
def test_each_period_has_its_own_ledger_in_local_time(period: str | None, zone: str, ledger: str) -> None:
    watch = Watch(budget=Budget(ledger="watch", dollars=5), budget_period=period, timezone=zone)
    budget = watch.budget_at(EVENING)
    assert (budget.ledger, budget.dollars) == (ledger, 5)


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(ValidationError, match="expected a time zone of the IANA database"):
        Watch(timezone="Mars/Base")


def test_a_command_gets_the_outcome_on_its_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "got.json"
    code = f"import sys; open({str(file)!r}, 'w').write(sys.stdin.read())"
    params = Notify(command=[sys.executable, "-c", code])
    notify(params, {**OUTCOME, "state": "unchanged"})
    assert not file.exists()
    notify(params, OUTCOME)
    assert json.loads(file.read_text()) == OUTCOME


def test_a_failed_notification_is_reported_and_fails_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    notify(Notify(command=["false"]), OUTCOME)
    notify(Notify(command=["no-such-command"]), OUTCOME)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[:3] for line in lines] == [
        ["watch", "not notified", "false"],
        ["watch", "not notified", "no-such-command"],
    ]


def test_a_round_that_breaks_is_a_failed_one_that_is_notified(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(*_: object) -> None:
        raise ZeroDivisionError("float division by zero")

    told: list[dict[str, object]] = []
    monkeypatch.setattr(watch_round, "_round", breaks)
    monkeypatch.setattr(watch_round, "notify", lambda _, outcome: told.append(dict(outcome)))
    outcome = watch_once()
    assert (outcome.state, outcome.detail) == ("failed", "unexpected ZeroDivisionError: float division by zero")
    assert told[0]["state"] == "failed" and "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("state", "status"), [("failed", 1), ("rebuilt", 0), ("unchanged", 0)])
def test_only_a_failed_round_ends_with_status_1(monkeypatch: pytest.MonkeyPatch, state: str, status: int) -> None:
    monkeypatch.setattr(watch, "_prepare", lambda: None)
    monkeypatch.setattr(watch, "prefect_environment", dict)
    monkeypatch.setattr(watch, "stop_if_unused", lambda: None)
    monkeypatch.setattr(watch_round, "watch_once", lambda dry_run: SimpleNamespace(state=state))
    with pytest.raises(typer.Exit) as ended:
        watch.once(dry_run=False)
    assert ended.value.exit_code == status
