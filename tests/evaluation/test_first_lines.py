"""What an audit says first: what each judge found and rejected, why its replies fail, and that rules are a dry run."""

import asyncio
from pathlib import Path

import pandas as pd
import pytest

from flows.commands.parser import run
from flows.evaluation import audit
from flows.evaluation.cards import card_of
from flows.evaluation.cards import require_answers as _require_answers
from schemas.errors import SourceError, UnscoredError
from tasks.audit.card import Practice, _recommended, card_table, practice_rows, verdict_lines, weaknesses
from tasks.audit.page import rate_tables
from tasks.llm.calls import Call, Message
from tasks.llm.costs import CountedAsk, Used
from tasks.reporting.evaluation_text import DRY_RUN, RULES
from tasks.reporting.show import terminal
from tests.support.card_verdicts import card_verdicts
from tests.support.cases import each
from tests.support.scripted import ScriptedAsk


def verdicts(judged: dict[bool, list[bool | None]], judge: str = "j") -> pd.DataFrame:
    known = {"judge": judge, "task": "claims", "kind": "k", "text": "t", "place": 0, "factor": ""}
    rows = [
        {**known, "case": f"{truth}{n}", "document": f"d{n}", "truth": truth, "judged": one}
        for truth, given in judged.items()
        for n, one in enumerate(given)
    ]
    return card_verdicts(rows)


YES_SAYER = {True: [True] * 48 + [None] * 2, False: [True] * 50}


def test_a_judge_that_says_yes_to_everything_rejects_no_false_claim() -> None:
    (line,) = verdict_lines(card_table(verdicts(YES_SAYER), seed=1))
    counts = "j: claims: finds 48 of 48 true claims, rejects 0 of 50 false claims; no verdict on 2 more"
    assert line == f"{counts}: do not use it, it is not told from guessing"
    only_true = card_table(verdicts({True: [True] * 9}), seed=1)
    assert verdict_lines(only_true)[0].startswith(
        "j: claims: finds 9 of 9 true claims, no case of false claims: too few"
    )
    assert not any("n 0" in terminal(table) for table in rate_tables(only_true))
    (line,) = verdict_lines(card_table(verdicts({True: [True] * 99}), seed=1))
    assert "fit for use" not in line, "nothing is known of false claims"


@each(
    "rates, said",
    [
        ((0.91, 0.95, 0.92, 0.99), "fit for use as it is"),
        ((0.7, 0.85, 0.92, 0.99), "use it corrected by this card only"),
        ((0.7, 0.95, 0.92, 0.99), "too few cases to say"),
        ((0.9, 1.0, 0.0, 0.2), "do not use it"),
        ((0.16, 1.0, 0.2, 1.0), "too few texts to tell it from guessing"),
    ],
)
def test_a_judge_is_recommended_by_the_intervals_of_its_rates(rates: tuple[float, ...], said: str) -> None:
    about = {"n": 400, "unscored": 0}
    yes, no = (pd.Series(about | {"low": low, "high": high}) for low, high in (rates[:2], rates[2:]))
    both = pd.Series({"low": (rates[0] + rates[2]) / 2, "high": (rates[1] + rates[3]) / 2})
    assert _recommended(yes, no, both).startswith(said)
    assert "fit for use" not in _recommended(yes, pd.Series({**no, "unscored": 40}), both), "one in ten has no verdict"


def test_a_card_of_rules_is_a_dry_run_of_which_no_weakness_is_told() -> None:
    halves = {True: [True] * 40, False: [False] * 40}
    weak = verdicts(halves), verdicts({True: [False] * 40, False: [True] * 40}).assign(kind="weak", unit="w")
    weak[1]["unit"] += weak[1].index.astype(str)
    table = pd.concat(weak, ignore_index=True)
    card = card_table(table, seed=1)
    assert weaknesses(card) and verdict_lines(card)[0].endswith("; see its weaknesses")
    rules = card_table(table.assign(judge=f"x, {RULES}"), seed=1)
    assert verdict_lines(rules)[0] == DRY_RUN and weaknesses(rules) == []
    assert rules["provenance"].str.startswith(DRY_RUN).all()


def test_a_card_is_used_for_its_own_judges_alone(tmp_path: Path) -> None:
    both = [verdicts({True: [True]}, judge=judge) for judge in ("medgemma", "mine")]
    pd.concat(both, ignore_index=True).to_parquet(tmp_path / "verdicts.parquet")
    assert set(card_of(tmp_path, "medgemma")["judge"]) == {"medgemma"}
    assert set(card_of(tmp_path, "a long label", "mine")["judge"]) == {"mine"}
    with pytest.raises(SourceError, match="a card of medgemma, mine, and the judge is gpt-oss; make its card"):
        card_of(tmp_path, "gpt-oss")


def test_replies_that_fail_are_told_with_their_reasons() -> None:
    counted = CountedAsk(ScriptedAsk(lambda _: ValueError("no JSON")))
    asyncio.run(counted([Call(str(n), (Message("user", "?"),)) for n in range(3)]))
    (reason,) = counted.failures
    took = {"j": Practice(100, 3, Used(), 1.0, counted.failures)}
    usable = [practice_rows(Practice(100, 4, Used(calls), 1.0, counted.failures))[0]["value"] for calls in (0, 4, 9)]
    assert usable == [0.25] * 3, "however many replies the calls that failed had"
    some = verdicts({True: [True] * 44 + [None] * 6, False: [False] * 50})
    with pytest.raises(UnscoredError) as raised:
        _require_answers(some, took, 0.05)
    said = str(raised.value)
    assert "j: 6 of 100 cases have no verdict, more than runtime.max_unscored_share 0.05; why: " in said
    assert f"{reason} (3 calls)" in said
    _require_answers(some, took, 0.06)
    _require_answers(some.assign(judge=f"x, {RULES}"), {}, 0.0)
    _require_answers(some, {}, 0.05)  # verdicts from elsewhere may have gaps
    with pytest.raises(UnscoredError, match="j: 100 of 100 cases have no verdict"):
        _require_answers(some.assign(value=float("nan")), {}, 0.05)


def test_an_audit_of_the_simulator_is_headed_as_a_dry_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "VARIED", 0.1)  # variants of cases take the rules most of the time
    out = tmp_path / "card"
    given = ["audit", "simulator", "--cases", "40", "--tasks", "claims", "--takes", "1", "--out", str(out)]
    assert run(given) == 0
    printed = capsys.readouterr().out.splitlines()
    first = printed.index(DRY_RUN)
    assert printed[0].startswith("judge: the simulator's rules") and first <= 1
    assert "true claims, rejects " in printed[first + 1]
    assert "beyond chance" not in "\n".join(printed)
    page = (out / "card.html").read_text()
    assert f"<h1>{DRY_RUN.capitalize()}. Report card" in page and "beyond chance" not in page
    assert printed[0].endswith(f"The card goes to {out / 'card.html'}")
    assert run([*given, "--against", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"{out / 'card.html'}, in place of the one there\n" in said
    assert "the simulator's rules are not compared with the earlier card" in said
    assert "in equal shares" in page and "other rates of the same judge" in page, "the report has other cases"
