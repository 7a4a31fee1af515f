"""The process by hand, its alarms in simulations, and the command with a judge that gets worse."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from flows.commands.cli import run
from flows.commands.watch_round import ALARM, RoundOutcome, _with_monitor
from flows.evaluation.monitor import read_rounds, round_cases, rounds_file, write_rounds
from flows.repository.params import load_params
from schemas.errors import SourceError
from schemas.tables.columns import typed
from schemas.tables.evaluate import ROUNDS
from tasks.monitoring.chart import lines, page, watched
from tasks.monitoring.e_process import LAST, PRIOR, watch_rate

LEVEL, CASES, REFERENCE = 0.025, 40, 2000
"""Level of one of two streams, cases of a round and of the reference, as params.yaml ships them."""


def drawn(random: np.random.Generator, rate: float, rounds: int) -> list[tuple[int, int]]:
    return [(int(right), CASES) for right in random.binomial(CASES, rate, rounds)]


def alarms(rate: float, *, studies: int, rounds: int, seed: int) -> float:
    """Share of monitors of an unchanged judge with an alarm."""
    random = np.random.default_rng(seed)
    reference = random.binomial(REFERENCE, rate, studies)
    raised = [
        watch_rate((int(right), REFERENCE), drawn(random, rate, rounds), level=LEVEL).alarm is not None
        for right in reference
    ]
    return float(np.mean(raised))


def found(before: int, *, studies: int, seed: int) -> float:
    """Share of falls from .95 to .90 after ``before`` rounds that are found within 30."""
    random = np.random.default_rng(seed)
    raised = []
    for _ in range(studies):
        reference = (int(random.binomial(REFERENCE, 0.95)), REFERENCE)
        rounds = drawn(random, 0.95, before) + drawn(random, 0.90, 30)
        raised.append(watch_rate(reference, rounds, level=LEVEL).alarm is not None)
    return float(np.mean(raised))


def test_the_process_by_hand() -> None:
    """Nothing is staked in the first round; in the second, on the rate of the first and `PRIOR` cases at the limit."""
    one = watch_rate((95, 100), [(20, 40), (10, 40)], level=0.05)
    limit = float(beta.ppf(0.025, 95, 6))
    bet = (20 + PRIOR * limit) / (40 + PRIOR)
    second = 10 * np.log(bet / limit) + 30 * np.log((1 - bet) / (1 - limit))
    assert one.limit == pytest.approx(limit) and one.rate == 0.95
    assert one.log_e.tolist() == pytest.approx([0.0, second])
    assert one.threshold == pytest.approx(np.log(40)) and one.alarm == 1
    assert watch_rate((95, 100), [(40, 40)] * 50, level=0.05).log_e.tolist() == [0.0] * 50
    assert watch_rate((0, 10), [(0, 40)] * 3, level=0.05).alarm is None, "a judge that is never right cannot fall"
    with pytest.raises(ValueError, match="reference of 0 cases"):
        watch_rate((0, 0), [], level=0.05)


def test_alarms_of_unchanged_judges_and_of_one_that_falls() -> None:
    assert alarms(0.95, studies=60, rounds=200, seed=1) <= 0.05
    assert found(0, studies=60, seed=2) >= 0.75


@pytest.mark.soak
def test_false_alarms_over_ten_years() -> None:
    """3,650 rounds of 40 cases, for rates that are known well and ones near 1."""
    for rate in (0.8, 0.95, 0.99):
        share = alarms(rate, studies=1000, rounds=3650, seed=1)
        print(f"\nrate {rate}: {share:.3f} of 1,000 monitors with an alarm in 3,650 rounds, level 0.025")
        assert share <= 0.025 + 0.01


@pytest.mark.soak
def test_a_fall_of_five_points_is_found_within_thirty_rounds() -> None:
    for before in (0, 100, 1000):
        share = found(before, studies=1000, seed=2)
        print(f"\nfall from .95 to .90 after {before} rounds: found within 30 rounds in {share:.3f}")
        assert share >= (0.8 if before <= 100 else 0.5)


def table(rates: dict[bool, list[float]], n: int = CASES) -> pd.DataFrame:
    rows = [
        {"round": at, "task": "claims", "truth": truth, "n": n, "right": round(n * rate), "unscored": 0}
        for truth, each in rates.items()
        for at, rate in enumerate(each, 1)
    ]
    return typed(rows, ROUNDS)


def test_the_page_and_the_lines_name_the_stream_that_fell() -> None:
    rounds = table({True: [0.95] * 90, False: [0.95] * 50 + [0.8] * 40})
    streams = watched(rounds, reference=50, level=0.05)
    assert streams["claims", True].alarm is None and streams["claims", False].alarm is not None
    false, true = lines(streams, rounds, reference=50)
    assert true == f"claims, sensitivity: 95.0% in the reference (n 2000), 95.0% in the last {LAST} rounds (n 480)"
    assert "claims, specificity: 95.0% in the reference (n 2000), 80.0% in the last" in false and "ALARM since" in false
    text = page(streams, rounds, judge="<b>judge</b>", reference=50, level=0.05)
    assert "&lt;b&gt;judge&lt;/b&gt; over time" in text and "<script" not in text and text.count("<svg") == 1


def test_cases_of_a_round_are_one_of_each_truth_from_a_note_and_others_each_time() -> None:
    first, second = (round_cases(load_params(), number, each=10) for number in (1, 2))
    assert first["truth"].sum() == 10 == (~first["truth"]).sum()
    assert not first.duplicated(["document", "truth"]).any() and (first["factor"] == "").all()
    judged = [set(zip(cases["premise"], cases["claim"], strict=True)) for cases in (first, second)]
    assert not judged[0] & judged[1]
    pd.testing.assert_frame_equal(first, round_cases(load_params(), 1, each=10))


def test_the_command_keeps_rounds_and_ends_with_an_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "monitor" / "judge.csv"
    monkeypatch.setattr("flows.evaluation.monitor.rounds_file", lambda role: file)
    write_rounds(file, table({True: [0.95] * 52, False: [0.95] * 52}))
    out = ["--out", str(tmp_path / "page.html")]
    assert run(["monitor", *out]) == 0
    assert read_rounds(file)["round"].max() == 53 and "written:" in capsys.readouterr().out
    write_rounds(file, table({True: [0.95] * 50 + [0.7] * 20, False: [0.95] * 70}))
    assert run(["monitor", "--rounds", "0", *out]) == 2
    assert "ALARM since round" in capsys.readouterr().out
    file.write_text("round,task\n1,claims\n")
    assert run(["monitor", *out]) == 1
    assert "not the rounds of a monitor" in capsys.readouterr().err


def test_rounds_belong_to_the_model_that_is_asked_for() -> None:
    role = load_params().roles["judge"]
    assert rounds_file(role) != rounds_file(role.model_copy(update={"model": "other"}))
    with pytest.raises(SourceError, match="not the rounds"):
        bad = rounds_file(role.model_copy(update={"model": "bad"}))
        bad.parent.mkdir(parents=True, exist_ok=True)
        bad.write_bytes(b"\xff\xfe")
        try:
            read_rounds(bad)
        finally:
            bad.unlink()


def test_an_alarm_is_an_outcome_where_nothing_was_rebuilt_and_a_remark_where_it_was() -> None:
    assert _with_monitor(RoundOutcome("unchanged"), "") == RoundOutcome("unchanged")
    assert _with_monitor(RoundOutcome("unchanged"), ALARM).state == "alarm"
    rebuilt = _with_monitor(RoundOutcome("rebuilt", ("judge",), "a -> b"), ALARM)
    assert rebuilt.state == "rebuilt" and rebuilt.detail == f"a -> b; {ALARM}"
    assert _with_monitor(RoundOutcome("unchanged"), "the judge was not monitored").state == "unchanged"
