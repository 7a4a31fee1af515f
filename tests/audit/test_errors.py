"""Errors that people made: read from MEDEC's rows, asked in two kinds of call, and what the card says of a judge."""

import asyncio
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from flows.commands.parser import run
from flows.evaluation.audit import MEDEC, NO_RULE, audit_cost, make_audit
from flows.repository.params import load_params
from schemas.errors import MissingSourceError, SourceError
from schemas.tables.verdicts import VERDICTS, verdict_table
from tasks.audit.card import FIRST, card_table, findings, unanswered
from tasks.audit.errors import (
    FIELDS,
    FLAGGED,
    SENTENCE,
    VERSION,
    LocatedError,
    RightVersion,
    drawn_texts,
    error_agreement,
    error_texts,
    judge_errors,
)
from tasks.llm.calls import Call, Reply
from tasks.llm.recorded import RecordedAsk
from tests.support.params import shipped
from tests.support.scripted import ScriptedAsk

KINDS = ("diagnosis", "management", "causalOrganism")


def medec(number: int, **changes: str) -> dict[str, str]:
    """A row of MEDEC's file, whose second sentence of three is wrong and goes over two lines."""
    sentences = f"0 Patient {number} has a cough.\n1 The dose is\n900 mg.\n2 He was sent home."
    known = {"Text ID": f"t{number}", "Sentences": sentences, "Error Flag": "1", "Error Type": KINDS[number % 3]}
    wrong = {"Error Sentence ID": "1", "Error Sentence": "The dose is\n900 mg. "}
    return {**known, **wrong, "Corrected Sentence": "The dose is 9 mg.", **changes}


def texts(size: int) -> list:
    return error_texts(medec(number) for number in range(size))


def perfect(call: Call) -> Reply:
    said = call.messages[-1].content
    if "<sentences>" in said:
        wrong = re.search(r"^(\d+)\. The dose is 900 mg", said, re.M)
        return LocatedError(sentence=int(wrong[1]) if wrong else 0)
    return RightVersion(right="second" if "900" in said.split("<first>")[1].split("</first>")[0] else "first")


def rows_of(script, size: int = 12) -> pd.DataFrame:
    rows = asyncio.run(judge_errors(ScriptedAsk(script), texts(size), seed=1))
    return pd.DataFrame(rows)


def card_of(rows: pd.DataFrame, judge: str = "j") -> pd.DataFrame:
    return card_table(VERDICTS.validate(verdict_table(rows.to_dict("records"), judge=judge)), seed=1)


def test_a_text_has_its_wrong_sentence_and_the_correction() -> None:
    (one,) = texts(1)
    assert one.sentences == ("Patient 0 has a cough.", "The dose is 900 mg.", "He was sent home.")
    assert one.corrected == (one.sentences[0], "The dose is 9 mg.", one.sentences[2])
    without = medec(0, **{"Error Flag": "0"}) | dict.fromkeys(FIELDS[3:])  # NA in the file
    assert error_texts([without]) == [] and texts(3)[2].kind == "causal organism"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"Error Sentence ID": "7"}, "text t0: sentence 7 is not the Error Sentence 'The dose is 900 mg.'"),
        ({"Error Sentence ID": "-1"}, "text t0: sentence -1 is not"),
        ({"Error Sentence": "Another."}, "sentence 1 is not the Error Sentence 'Another.'"),
        ({"Corrected Sentence": "The dose is 900 mg."}, "expected another than the wrong"),
        ({"Corrected Sentence": ""}, "the Corrected Sentence is ''"),
    ],
)
def test_a_row_that_contradicts_itself_is_named(changes: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        error_texts([medec(0, **changes)])
    with pytest.raises(ValueError, match="text t0: no Error Type; expected MEDEC's columns"):
        error_texts([{name: value for name, value in medec(0).items() if name != "Error Type"}])
    assert set(FIELDS) == set(medec(0))


def test_texts_are_drawn_of_each_kind_in_turn() -> None:
    rows = [medec(n, **{"Error Type": "diagnosis" if n < 20 else "treatment"}) for n in range(24)]
    drawn = drawn_texts(error_texts(rows), 8, seed=1)
    assert [one.kind for one in drawn].count("treatment") == 4 and len(drawn) == 8
    assert drawn != drawn_texts(error_texts(rows), 8, seed=2)


def test_a_judge_that_finds_every_error_has_a_perfect_card() -> None:
    ask = ScriptedAsk(perfect)
    rows = asyncio.run(judge_errors(ask, texts(12), seed=1))
    assert len(ask.calls) == 12 * 4 and len({call.key for call in ask.calls}) == 48
    card = card_of(pd.DataFrame(rows))
    rates = card[card["metric"].isin(["sensitivity", "specificity"])]
    assert set(rates["condition"]) == {FLAGGED, SENTENCE, VERSION} and (rates["value"] == 1).all()
    assert (rates["n"] == 12).all() and (rates["high"] >= rates["low"]).all() and findings(card) == []
    order = card[(card["condition"] == f"{VERSION}: {FIRST}") & (card["metric"] == "gain_of_yes")]
    assert order["value"].tolist() == [0.0] and order["n"].tolist() == [12]
    kinds = card[(card["metric"] == "judged_rightly") & (card["condition"] == VERSION)]
    assert set(kinds["item"]) == {"diagnosis", "management", "causal organism"}


def test_a_judge_that_prefers_the_first_version_and_the_wrong_sentence_is_found_out() -> None:
    """It flags every text, always by its first sentence, and takes the first of two versions."""
    rows = rows_of(lambda call: LocatedError(sentence=1) if "<sentences>" in call.messages[-1].content
                   else RightVersion(right="first"))  # fmt: skip
    card = card_of(rows)
    by = card.set_index(["condition", "metric", "item"])["value"]
    assert (by[FLAGGED, "sensitivity", "all"], by[FLAGGED, "specificity", "all"]) == (1.0, 0.0)
    assert by[SENTENCE, "sensitivity", "all"] == 0.0 and by[VERSION, "balanced_accuracy", "all"] == 0.5
    assert by[f"{VERSION}: {FIRST}", "gain_of_yes", "all"] == 1.0
    line = "j: a version that is shown first is accepted more often, by 100.0 points (n 12, 12 texts)"
    assert line in findings(card)


def test_replies_that_cannot_be_used_are_no_verdicts() -> None:
    card = card_of(rows_of(lambda _: ValueError("no")))
    assert len(unanswered(card)) == 3 and "j: errors: none of 24 cases has a verdict" in unanswered(card)
    rates = card[card["metric"].isin(["sensitivity", "specificity"])]
    assert (rates["n"] == 0).all() and rates["value"].isna().all() and (rates["unscored"] == 12).all()
    with pytest.raises(ValueError, match="sentence 9 is not one of 1 to 3"):
        LocatedError.model_validate({"sentence": 9}, context={"sentences": 3})


def test_no_request_says_which_version_is_right_or_what_is_wrong() -> None:
    ask = ScriptedAsk(perfect)
    asyncio.run(judge_errors(ask, texts(3), seed=1))
    for call in ask.calls:
        said = call.messages[-1].content
        assert call.key not in said and not any(f"{name}" in said for name in ("t0", "t1", "corrected", "organism"))


def _source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, str]]) -> None:
    (tmp_path / "data" / "medec").mkdir(parents=True)
    pd.DataFrame(rows).to_csv(tmp_path / "data" / MEDEC, index=False)
    monkeypatch.setenv("SOURCES", str(tmp_path / "data"))


def test_the_command_exports_errors_scores_verdicts_and_says_that_the_rules_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _source(tmp_path, monkeypatch, [medec(number) for number in range(9)])
    common = ["audit", "--cases", "60", "--tasks", "errors"]
    assert run([*common, "--export", str(tmp_path / "cases.jsonl")]) == 0
    asked = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    truth = [json.loads(line) for line in (tmp_path / "cases-truth.jsonl").read_text().splitlines()]
    assert len(asked) == 9 * 6 and {one["task"] for one in asked} == {FLAGGED, SENTENCE, VERSION}
    assert all(one["reason"].startswith("A person put") for one in truth)
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps({"id": one["id"], "judged": one["truth"]}) + "\n" for one in truth))
    given = [*common, "--verdicts", str(file), "--out", str(tmp_path / "card")]
    assert run([*given, "--require", "specificity=0.5,first_of_two_versions=0.5"]) == 0
    capsys.readouterr()
    assert run([*common, "simulator", "--out", str(tmp_path / "rules")]) == 0
    printed = capsys.readouterr().out
    assert NO_RULE in printed and "simulator's rules): errors: none of 18 cases has a verdict" in printed
    assert NO_RULE.replace("'", "&#39;") in (tmp_path / "rules" / "card.html").read_text()


def test_the_cost_of_errors_is_counted_without_any_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _source(tmp_path, monkeypatch, [medec(number) for number in range(9)])
    params = shipped(roles={"judge": {"base_url": "http://127.0.0.1:9/v1", "model": "m"}})
    audit = make_audit(None, params, cases=2000, tasks=["errors"])
    probe, line = asyncio.run(audit_cost(params, audit))
    assert (probe.stage, probe.model) == ("probe", "m")
    assert line.estimate.calls == 9 * 4 and line.estimate.prompt_tokens > 36 * 100


def test_without_the_data_errors_are_left_out_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCES", str(tmp_path))
    with pytest.raises(MissingSourceError, match=re.escape(MEDEC)):
        make_audit(None, load_params(), cases=20, tasks=["errors"])
    monkeypatch.delenv("SOURCES")
    with pytest.raises(MissingSourceError, match=r"no folder of outside data; set SOURCES or sources\.folder"):
        make_audit(None, load_params(), cases=20, tasks=["errors"])
    _source(tmp_path, monkeypatch, [medec(0, **{"Error Sentence": "Another."})])
    with pytest.raises(SourceError, match=r"validation\.csv: text t0: sentence 1 is not the Error Sentence"):
        make_audit(None, load_params(), cases=20, tasks=["errors"])


def test_agreement_on_errors_counts_all_texts_and_lists_those_without_a_reply() -> None:
    asks = [ScriptedAsk(perfect), RecordedAsk("silent", {})]
    rows, unscored = asyncio.run(error_agreement(asks, texts(6), "error in the text"))
    found = {(row["system"], row["metric"]): (row["value"], row["n"], row["unscored"]) for row in rows}
    assert found[asks[0].label, "sensitivity"] == (1, 6, 0) and found[asks[0].label, "kappa"][:2] == (1, 12)
    assert found["silent", "sensitivity"][1:] == (0, 6) and found["silent", "kappa"][1:] == (0, 12)
    assert len(unscored) == 12 and {row["step"] for row in unscored} == {
        "locate error, as written", "locate error, corrected",
    }  # fmt: skip
