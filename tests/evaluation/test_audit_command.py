"""The command `vignette audit`: exported cases, returned verdicts, an earlier card, requirements, and bad input."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from flows.commands.parser import run
from flows.evaluation.audit import make_audit
from flows.repository.params import load_params
from tasks.audit.cases import FACTORS
from tasks.measures.cases import CASES_OF
from tests.support.sources import needs_sources, sources_folder

SEED = 3


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    params = load_params().model_copy(update={"seed": SEED})
    return dict(list(make_audit(None, params, cases=1).texts.items())[:12])


def test_the_command_scores_returned_verdicts_and_fails_a_requirement(
    tmp_path: Path, texts: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "texts.jsonl"
    source.write_text("".join(json.dumps({"id": name, "told": text}) + "\n" for name, text in texts.items()))
    common = ["--texts", str(source), "--map", "source=told", "--cases", "200", "--seed", "5", "--tasks", "claims"]
    assert run(["audit", *common, "--export", str(tmp_path / "cases.jsonl")]) == 0
    asked = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    truth = [json.loads(line) for line in (tmp_path / "cases-truth.jsonl").read_text().splitlines()]
    assert "truth" not in asked[0] and {one["id"] for one in truth} == {one["id"] for one in asked}
    answers = {one["id"]: one["factor"] == "instruction to answer yes" or one["truth"] for one in truth}
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps({"id": name, "judged": judged}) + "\n" for name, judged in answers.items()))
    out = tmp_path / "card"
    given = ["audit", *common, "--verdicts", str(file), "--out", str(out)]
    assert run([*given, "--require", "sensitivity=0.9,injection=0.1"]) == 2
    printed = capsys.readouterr().out
    missed = "required, missed: mine, claims: instruction to answer yes: injection"
    assert "instruction to answer yes costs" in printed and missed in printed
    page = (out / "card.html").read_text()
    assert "right before the change, wrong after it" in page and "<script" not in page
    assert run([*given, "--against", str(out), "--require", "sensitivity=0.95"]) == 3
    printed = capsys.readouterr().out
    assert re.search(r"not worse than the earlier card beyond chance: \d+ rates and", printed)
    assert "required, open: " in printed
    assert {"card.csv", "card.html", "card.json", "verdicts.csv", "verdicts.parquet"} <= {f.name for f in out.iterdir()}


def test_all_tasks_are_exported_under_ids_that_say_nothing_and_scored_again(tmp_path: Path) -> None:
    common = ["audit", "--cases", "40", "--seed", "5"]
    assert run([*common, "--export", str(tmp_path / "cases.jsonl")]) == 0
    asked = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    truth = [json.loads(line) for line in (tmp_path / "cases-truth.jsonl").read_text().splitlines()]
    names = {one[name] for one in asked for name in ("id", "call")}
    assert all(re.fullmatch("[0-9a-f]{16}", name) for name in names) and len({one["id"] for one in asked}) == len(asked)
    assert {one["pair"] for one in truth} - {""} <= {one["id"] for one in asked}
    tasks = {"consistency", *(name for own in CASES_OF.values() for one in own for name in one.asked)}
    assert {"claims", "citation recall", "answers"} <= tasks
    assert {one["task"] for one in asked} == tasks
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps({"id": one["id"], "judged": one["truth"]}) + "\n" for one in truth))
    assert run([*common, "--verdicts", str(file), "--out", str(tmp_path / "card")]) == 0
    card = pd.read_csv(tmp_path / "card" / "card.csv")
    rates = card[card["metric"].isin(["sensitivity", "specificity"])]
    assert set(rates["condition"]) == tasks and (rates["value"] == 1).all() and (rates["unscored"] == 0).all()
    losses = card[card["metric"].isin(["loss_of_accuracy", "gain_of_yes"])]
    assert len(losses) == len(FACTORS) + 1 and (losses["value"] == 0).all()


BAD = [
    ("--cases 0", None, "--cases 0: expected 1 or more"),
    ("--takes 0", None, "--takes 0: expected 1 or more"),
    ("--seed -1", None, "--seed -1: expected 0 to 4294967295"),
    ("--tasks ,", None, "expected some of claims"),
    ("--tasks charm", None, "--tasks charm: expected some of claims"),
    ("--tasks consistency --texts FILE", b"{}", "needs notes whose record is known"),
    ("--require sensitivity", None, "expected NAME=NUMBER"),
    ("--require sensitivity=nan", None, "expected a number from 0 to 1"),
    ("", None, "JUDGE: no default; name a model, MODEL@URL or a role"),
    ("simulater", None, "; did you mean simulator?"),
    ("--require charm=0.1", None, "or a change (injection, length, family, names"),
    ("--require injection=0 --tasks citations", None, "add claims to --tasks"),
    ("--require first_of_two_versions=0", None, "two versions are shown by task errors; add errors to --tasks"),
    ("--tasks errors --against nowhere", None, "no such file"),
    ("simulator simulator", None, "the same model as simulator; name each judge once"),
    ("--verdicts FILE --verdicts FILE", b"", "a file of judge FILE is"),
    ("simulator --verdicts FILE", b"", "JUDGE: has no effect with --verdicts"),
    ("--dry-run --verdicts FILE", b"", "--dry-run: has no effect with --verdicts"),
    ("simulator --export FILE", None, "JUDGE: has no effect with --export"),
    ("--export .", None, ".: is a folder; name a file"),
    ("--against nowhere", None, "no such file; expected a folder that `vignette audit --out` wrote"),
    ("simulator --texts nowhere.csv", None, "no such file"),
    ("simulator --texts FILE --map source", b"{}", "--map source: expected FIELD=COLUMN"),
    ("simulator --texts FILE", b"\x89PNG\r\n\x1a\n\x00\x00", "FILE"),
    ("someone", None, "expected simulator, a role of the params"),
    ("--verdicts nowhere.jsonl", None, "cannot be read"),
    ("--verdicts FILE", b"nonsense", "line 1: not JSON"),
    ("--verdicts FILE", b"[1, 2]", "line 1: expected"),
    ("--verdicts FILE", b'{"id": "KNOWN"}', "line 1: expected"),
    ("--verdicts FILE", b'{"id": ["c0000/"], "judged": true}', "is no case; export the cases"),
    ("--verdicts FILE", b'{"id": "zzz", "judged": true}', "'zzz' is no case; export the cases"),
    (
        "--verdicts FILE",
        b'{"id": "KNOWN", "judged": "maybe"}',
        "judged is 'maybe'; expected true, false or null",
    ),
    (
        "--verdicts FILE",
        b'{"id": "KNOWN", "judged": true}\n' * 2,
        "two verdicts; keep one",
    ),
    ("--verdicts FILE", b"\xff\xfe", "line 1: byte 0xff is not UTF-8"),
    ("--verdicts FILE", b"[" * 100_000, "line 1: not JSON (nested too deeply)"),
    ("--verdicts FILE", b"", "no verdict; expected a line for each case"),
]


def test_a_verdict_counts_for_the_text_that_was_read_alone(
    tmp_path: Path, texts: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    ids = []
    for number, last in enumerate(("", " The bill was paid.")):
        source, file = tmp_path / f"texts{number}.jsonl", tmp_path / f"cases{number}.jsonl"
        source.write_text(json.dumps({"id": "a", "source": next(iter(texts.values())) + last}))
        given = ["audit", "--texts", str(source), "--cases", "20", "--tasks", "claims"]
        assert run([*given, "--export", str(file)]) == 0
        ids.append({json.loads(line)["id"] for line in file.read_text().splitlines()})
    assert len(ids[0]) > 20 and not ids[0] & ids[1]
    (tmp_path / "earlier.jsonl").write_text(json.dumps({"id": min(ids[0]), "judged": True}))
    assert run([*given, "--verdicts", str(tmp_path / "earlier.jsonl"), "--out", str(tmp_path / "card")]) == 1
    assert "is no case; export the cases" in capsys.readouterr().err


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]) -> tuple[list[str], bytes]:
    """Options of an audit whose cases are made at once, and the id of one of them."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "texts.jsonl").write_text(json.dumps({"id": "a", "source": next(iter(texts.values()))}))
    options = ["--cases", "20", "--texts", str(folder / "texts.jsonl"), "--tasks", "claims"]
    assert run(["audit", *options, "--export", str(folder / "cases.jsonl")]) == 0
    return options, str(json.loads((folder / "cases.jsonl").read_text().splitlines()[0])["id"]).encode()


@pytest.mark.parametrize(("options", "content", "said"), BAD)
def test_bad_input_is_one_clear_line(
    options: str,
    content: bytes | None,
    said: str,
    short: tuple[list[str], bytes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "FILE.jsonl"
    if content is not None:
        file.write_bytes(content.replace(b"KNOWN", short[1]))
    given = [str(file) if word == "FILE" else word for word in options.split()]
    to = [] if "--export" in given else ["--out", str(tmp_path / "card")]
    small = ["--cases", "20"] if "--tasks" in options or "--texts" in options else short[0]
    assert run(["audit", *small, *given, *to]) == 1
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error and not (tmp_path / "card").exists()
    assert len(error.strip().splitlines()) == 1 and len(error) < 600


def test_a_folder_that_an_audit_did_not_write_is_left_alone(
    short: tuple[list[str], bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert run(["audit", "simulator", *short[0], "--out", str(tmp_path)]) == 1
    assert run(["audit", *short[0], "--export", str(tmp_path / "mine.txt")]) == 1
    assert "exists, and vignette audit --export did not write it" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"] and (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.dag
def test_the_recorded_verdicts_of_a_strong_model_make_its_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/audit.md: 1,923 answers to exported cases, each with its case, and what the card says of them."""
    recorded = Path("tests/cassettes/audit/strong-model.jsonl").resolve()
    assert len(recorded.read_text(encoding="utf-8").splitlines()) == 1923
    common = ["--cases", "240", "--seed", "7", "--verdicts", str(recorded), "--out", str(tmp_path / "card")]
    assert run(["audit", *common]) == 0
    card = pd.read_csv(tmp_path / "card" / "card.csv")
    found = card[card["metric"].isin(["sensitivity", "specificity"]) & card["item"].eq("all")]
    assert (found["unscored"] == 0).all() and (found["value"] == 1).all() and len(found) == 14
    said = "16 of 16 changes that should not matter cost no more right answers than chance would, and 1 of 1 of order"
    assert f"{said} gain no more yes" in capsys.readouterr().out, "a change of place in the call has no loss"


@needs_sources
def test_the_recorded_verdicts_on_errors_that_people_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/audit.md, "Errors that people made"."""
    monkeypatch.setenv("SOURCES", str(sources_folder()))
    recorded = Path("tests/cassettes/audit/errors.jsonl").resolve()
    common = ["--tasks", "errors", "--cases", "240", "--seed", "7", "--verdicts", str(recorded)]
    assert run(["audit", *common, "--out", str(tmp_path / "card")]) == 0
    card = pd.read_csv(tmp_path / "card" / "card.csv")
    counted = card[card["item"].eq("all")].set_index(["condition", "metric"])["value"]
    assert round(39 * counted["errors", "sensitivity"]) == 36 and counted["errors", "specificity"] == 1
    assert round(39 * counted["error sentence", "sensitivity"]) == 37
    assert [round(39 * counted["error version", end]) for end in ("sensitivity", "specificity")] == [37, 37]
