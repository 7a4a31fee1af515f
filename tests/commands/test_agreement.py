"""`vignette agreement`: the table that it reads, what it prints and writes, and what it refuses."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from flows.commands import agreement
from flows.commands.agreement import _add_scores, _table
from flows.commands.parser import run
from tests.judges.test_human_scores import table
from tests.support.cases import from_table


def test_scores_of_one_system_need_no_column_that_names_it(tmp_path: Path) -> None:
    known = table().drop(columns="rate").rename(columns={"document": "id"})
    known[known["system"] == known["system"].iloc[0]].drop(columns="system").to_csv(tmp_path / "s.csv", index=False)
    assert run(["agreement", str(tmp_path / "s.csv"), "--human", "human", "--out", str(tmp_path / "out.csv")]) == 0
    assert pd.read_csv(tmp_path / "out.csv")["value"].notna().any()


def test_repeated_takes_of_a_text_make_no_interval_narrower(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    once, found = table().drop(columns="rate").rename(columns={"document": "id"}), []
    for frame in (once.assign(take=1), pd.concat([once.assign(take=take) for take in range(3)])):
        frame.to_csv(tmp_path / "scores.csv", index=False)
        out = tmp_path / f"{len(frame)}.csv"
        assert run(["agreement", str(tmp_path / "scores.csv"), "--human", "human", "--out", str(out)]) == 0
        found.append(pd.read_csv(out).set_index(["item", "metric"]).loc[("good", "pearson")])
    assert found[1][["value", "low", "high"]].tolist() == pytest.approx(found[0][["value", "low", "high"]].tolist())
    frame.drop(columns="take").to_csv(tmp_path / "scores.csv", index=False)
    assert run(["agreement", str(tmp_path / "scores.csv"), "--human", "human"]) == 1
    assert "is listed twice; name --system or --id, or number the times in a column take" in capsys.readouterr().err


def test_differences_from_a_constant_metric_are_not_counted_as_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor are differences counted that have no value, as those of a constant score."""
    rows = "".join(f"d{n},{n % 5},1,{n % 4},{n % 3},{0.1 if n else 1},1\n" for n in range(20))
    (tmp_path / "s.csv").write_text("id,human,constant human,one,other,all but one,constant\n" + rows)
    assert run(["agreement", str(tmp_path / "s.csv"), "--human", "human", "--human", "constant human"]) == 0
    said = "size of r: 3; tested (8 documents or more, no scores all equal but in one): 1; beyond chance"
    assert said in capsys.readouterr().out


@from_table
def test_the_command_prints_the_table_or_one_clear_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scores.csv"
    table().drop(columns="rate").assign(words="many").to_csv(file, index=False)
    code = run(["agreement", str(file), "--id", "document", "--out", str(tmp_path / "out.csv"), *arguments])
    printed = capsys.readouterr()
    assert said in printed.out + printed.err and "Traceback" not in printed.err
    assert code == (0 if said == "good" else 1)
    if said == "good":
        found = pd.read_csv(tmp_path / "out.csv").set_index(["item", "metric"])
        lines = printed.out.splitlines()
        assert len(lines) < len(found) and f"all {len(found)} rows" in printed.out, "the summary"
        assert lines[1].split()[:3] == ["human", "good", f"{found.loc[('good', 'pearson'), 'value']:.2f}"]
        assert found.loc[("good", "pearson"), "value"] > 0.9 and found.loc[("good", "pearson"), "n"] == 24
        assert ("good - noise", "pearson_difference") in found.index


def test_a_figure_without_an_interval_is_printed_alone_and_an_absent_one_as_a_dash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(systems=3).drop(columns="rate").assign(noise=0.5).to_csv(tmp_path / "scores.csv", index=False)
    assert run(["agreement", str(tmp_path / "scores.csv"), "--human", "human", "--id", "document"]) == 0
    good, constant = (re.split(r" {2,}", line.strip()) for line in capsys.readouterr().out.splitlines()[1:3])
    assert re.fullmatch(r"\d\.\d\d \[\d\.\d\d, \d\.\d\d\]", good[2]) and good[5:] == ["1.00", "36"]
    assert constant == ["human", "noise", *["-"] * 4, "36"]


def test_a_rank_of_systems_of_which_one_has_no_score_is_said_to_be_lacking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = table(systems=3).drop(columns=["rate", "noise"])
    for said, frame in ((False, known), (True, known.assign(good=known["good"].mask(known["system"] == "s1")))):
        frame.to_csv(tmp_path / "scores.csv", index=False)
        assert run(["agreement", str(tmp_path / "scores.csv"), "--human", "human", "--id", "document"]) == 0
        why = "of the means of 3 systems, none where one has no score or all are equal\n"
        assert (why in capsys.readouterr().out) == said


def test_a_table_of_a_header_alone_is_said_to_have_no_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scores.csv").write_text("id,human,rouge\n")
    assert run(["agreement", str(tmp_path / "scores.csv"), "--human", "human"]) == 1
    assert "scores.csv: no column id, human; found no row; name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("NA,x,1,0", "row 26: column id is empty"),
        ("d1,None,1,0", "row 26: column system is empty"),
        ("d1,x,inf,0", "row 26: column quality holds 'inf'"),
        ("d1,x,1,inf", "row 26: column rouge holds 'inf'"),
        ("d1,x,1,85%", "row 26: column rouge holds '85%'"),
        ('d1,x,1,"1,234"', "row 26: column rouge holds '1,234', whose comma may divide decimals"),
    ],
)
def test_a_cell_by_which_a_row_would_be_left_out_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str, message: str
) -> None:
    rows = [f"d{at // 2},{'ab'[at % 2]},{at},{at % 7}" for at in range(24)]
    (tmp_path / "s.csv").write_text("\n".join(["id,system,quality,rouge", *rows, row]))
    assert run(["agreement", str(tmp_path / "s.csv"), "--human", "quality"]) == 1
    assert message in capsys.readouterr().err


def test_a_table_of_a_windows_program_is_read_with_its_encoding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"Mü{at};{at};{at % 3}" for at in range(6)]
    (file := tmp_path / "s.csv").write_bytes("\n".join(["id;quality;rouge", *rows]).encode("cp1252"))
    assert run(asked := ["agreement", str(file), "--human", "quality"]) == 1
    assert "or give --encoding windows-1252, where" in capsys.readouterr().err
    assert run([*asked, "--encoding", "windows-1252"]) == 0
    (file := tmp_path / "labels.csv").write_bytes("cluster;item;judged;label\nMü;Mü;1;1\n".encode("cp1252"))
    assert run(["agreement", str(file), "--encoding", "windows-1252"]) == 0


def test_a_word_in_a_column_with_decimal_commas_is_named_and_no_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"d{at};{at},5;{at % 3}" for at in range(6)]
    (file := tmp_path / "s.csv").write_text("\n".join(["id;quality;rouge", *rows, "d6;k.A.;1"]))
    assert run(["agreement", str(file), "--human", "quality"]) == 1
    assert "row 8: column quality holds 'k.A.'; expected numbers" in capsys.readouterr().err


def test_numbers_as_ids_are_those_of_the_evaluation(tmp_path: Path) -> None:
    """Where one is written as 7.0, as in a column that pandas kept as decimals."""
    rows = [{"id": float(at) if at else "x", "quality": at, "rouge": at % 3} for at in range(9)]
    (tmp_path / "s.json").write_text(json.dumps(rows))
    assert _table(tmp_path / "s.json", "id", "system", ["quality"])["document"].tolist()[1:3] == ["1", "2"]


def test_an_output_without_a_score_of_the_evaluation_is_named_with_its_system(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = pd.DataFrame([("v1", "A"), ("v1", "B"), ("v2", "A")], columns=["document", "system"])
    scores = texts[:1].assign(item="all", metric="recall", value=0.5)
    monkeypatch.setattr(agreement, "evaluation_scores", lambda _: scores)
    joined, names = _add_scores(texts, Path("e"))
    assert names == ["recall"] and joined["recall"].notna().tolist() == [True, False, False]
    assert capsys.readouterr().err == "e: no score of 2 outputs of the table: v1 of B, v2 of A\n"
    _add_scores(texts[texts["system"] == "A"], Path("e"))
    assert capsys.readouterr().err == "e: no score of 1 output of the table: v2\n"
