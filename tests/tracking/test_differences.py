"""Lineages: what is read of a lock file, and which inputs, stages and costs differ between two of them."""

from tasks.tracking.differences import (
    changed_stages,
    cost_table,
    differing_fields,
    differing_inputs,
    flatten,
    inputs,
    is_redraw,
    stages_behind,
)
from tasks.tracking.lineage import Lineage, StageLineage, read_lineage

WRITER, JUDGE = "fingerprints/writer.json", "fingerprints/judge.json"


def lineage(number: int = 0, **changes: str) -> Lineage:
    """Two stages: ``write`` makes notes and the writer's identity, ``check`` reads both."""
    hashes = {"code": "c", "raw": "r", "writer": "w", "notes": "n", "table": "t"} | changes
    write = StageLineage(
        "write",
        {"tasks/write.py": hashes["code"], "raw.csv": hashes["raw"]},
        {"data/notes": hashes["notes"], WRITER: hashes["writer"]},
        {"roles": {"writer": {"redraw": number, "model": "m"}}, "seed": 7},
    )
    check = StageLineage(
        "check",
        {"data/notes": hashes["notes"], "data": hashes["notes"], "fingerprints": "f", WRITER: hashes["writer"]},
        {"data/table": hashes["table"]},
        {"seed": 7},
    )
    return Lineage("id", (check, write))


def test_inputs_are_code_identities_params_and_data_that_no_stage_makes() -> None:
    assert inputs(lineage()) == {
        ("code", "tasks/write.py"): {"write": "c"},
        ("data", "raw.csv"): {"write": "r"},
        ("identity", WRITER): {"check": "w"},
        ("param", "roles.writer.redraw"): {"write": "0"},
        ("param", "roles.writer.model"): {"write": "m"},
        ("param", "seed"): {"check": "7", "write": "7"},
    }
    assert list(flatten({"a": {"b": {"c": 1}, "d": []}})) == [("a.b.c", 1), ("a.d", [])]


def test_only_another_number_of_a_redraw_makes_a_redraw() -> None:
    first = lineage()
    others = {"itself": lineage(), "redraw": lineage(1), "new code": lineage(1, code="d"), "new data": lineage(raw="s")}
    assert [name for name, other in others.items() if is_redraw(first, other)] == ["redraw"]
    assert is_redraw(first, lineage(1, notes="o", table="u")), "results of the redraw differ, its inputs do not"


def test_differing_inputs_are_listed_with_the_stages_that_read_them() -> None:
    rows = differing_inputs(lineage(), lineage(2, raw="s", writer="x"))
    assert rows.values.tolist() == [
        ["data", "raw.csv", "r", "s", "write", ""],
        ["identity", WRITER, "w", "x", "check", ""],
        ["param", "roles.writer.redraw", "0", "2", "write", ""],
    ]
    assert differing_inputs(lineage(), lineage()).empty
    gone = Lineage("id", lineage().stages[:1])
    removed = differing_inputs(lineage(), gone).set_index("name")
    assert removed.loc["raw.csv"].tolist() == ["data", "r", "", "write", ""], "read by the first lineage only"
    added = differing_inputs(gone, lineage()).set_index("name")
    assert added.loc["raw.csv"].tolist() == ["data", "", "r", "write", ""], "read by the second lineage only"


def test_an_input_that_differs_for_some_of_its_stages_is_listed_with_these() -> None:
    """As after `vignette repro STAGE`: the lock keeps the former value for the other stages that read it."""

    def of(**seeds: int) -> Lineage:
        return Lineage("id", tuple(StageLineage(name, params={"seed": seed}) for name, seed in seeds.items()))

    whole, part = of(check=8, draw=8, write=8), of(check=7, draw=8, write=7)
    rows = differing_inputs(of(check=7, draw=7, write=7), part)
    assert rows.values.tolist() == [["param", "seed", "7", "8", "draw", "check, write"]]
    assert differing_inputs(part, whole).values.tolist() == [["param", "seed", "7", "8", "check, write", "draw"]]
    mixed = differing_inputs(of(check=6, draw=7, write=6), whole).values.tolist()
    assert mixed == [["param", "seed", "6, 7", "8", "check, draw, write", ""]]
    assert differing_inputs(of(check=7), of(check=7, draw=7)).empty, "another stage reads the same"
    assert differing_inputs(of(check=7), of(check=7, draw=8)).values.tolist() == [
        ["param", "seed", "7", "8", "draw", "check"]
    ]


def test_identities_replace_the_hashes_of_roles_that_differ() -> None:
    before = {"identity": {"asked": "m", "answered": "a" * 64, "owner": "o"}, "epoch": 0}
    after = {"identity": {"asked": "m", "answered": "b" * 64}, "epoch": 1}
    rows = differing_inputs(
        lineage(), lineage(writer="x"), {"writer": before, "judge": before}, {"writer": after, "judge": after}
    )
    said = [f"answered {'a' * 10}…, epoch 0, owner o", f"answered {'b' * 10}…, epoch 1, owner absent"]
    assert rows.values.tolist() == [["identity", WRITER, *said, "check", ""]]
    assert differing_inputs(lineage(), lineage(writer="x"), {"writer": before})["a"].tolist() == ["w"]
    assert differing_fields(before, before) == ("same identity", "other canary replies")
    assert differing_fields(before, before | {"epoch": 2}) == ("epoch 0", "epoch 2")


def test_a_stage_changed_if_an_output_was_changed_added_or_removed() -> None:
    shorter = Lineage("id", lineage(table="u").stages[:1])
    assert changed_stages(lineage(), shorter).values.tolist() == [
        ["check", "data/table"],
        ["write", f"data/notes, {WRITER}"],
    ]
    assert changed_stages(shorter, lineage(table="u"))["stage"].tolist() == ["write"]
    assert changed_stages(lineage(), lineage()).empty


def test_the_cost_of_a_stage_adds_sent_and_received_tokens() -> None:
    a = {"write.calls": 3.0, "write.prompt_tokens": 50.0, "write.completion_tokens": 20.0, "write.dollars": 0.5}
    table = cost_table(a, {"check.calls": 1.0})
    assert table.values.tolist() == [["check", 0, 0, 0, 1, 0, 0], ["write", 3, 70, 0.5, 0, 0, 0]]


def test_the_id_of_a_lineage_is_that_of_its_stages_without_the_recording() -> None:
    stage = {
        "deps": [{"path": "b", "md5": "2"}, {"path": "a"}],
        "outs": [{"path": "c", "md5": "3"}],
        "params": {"params.yaml": {"seed": 7}},
    }
    found = read_lineage({"stages": {"write": stage, "record": stage}})
    assert found.stages == (StageLineage("write", {"a": "", "b": "2"}, {"c": "3"}, {"seed": 7}),)
    assert len(found.id) == 16 and found == read_lineage({"stages": {"write": stage}})
    for changed in ({"deps": []}, {"outs": [{"path": "c", "md5": "4"}]}):
        assert found.id != read_lineage({"stages": {"write": {**stage, **changed}}}).id


def test_stages_that_were_not_rebuilt_after_others_are_behind_with_those_that_need_them() -> None:
    def found(read: str) -> list[str]:
        stages = [
            StageLineage("sample", outs={"data/records.parquet": "new"}),
            StageLineage(
                "judge", deps={"data/records.parquet": read, "params": "x"}, outs={"data/scores.parquet": "s"}
            ),
            StageLineage("report", deps={"data/scores.parquet": "s"}, outs={"data/report": "r"}),
        ]
        return stages_behind(Lineage("a", tuple(reversed(stages))))

    assert found("old") == ["judge", "report"] and found("new") == []
