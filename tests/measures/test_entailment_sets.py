"""Labelled pairs are read as ANLI and MedNLI name their fields, and judged in two and in three classes."""

import asyncio
import json
from pathlib import Path

import pytest

from schemas.errors import SourceError
from schemas.params.measures import DocLens
from schemas.tables.verdicts import VERDICTS
from tasks.llm.calls import Call
from tasks.measures.doclens.evaluators import ClaimVerdicts
from tasks.measures.grounding.entailment_sets import METRICS, judge_pairs, read_sets
from tasks.measures.measure import figures
from tasks.papers.printed import items
from tasks.papers.reproduction import PUBLISHED, compared
from tests.support.scripted import Said, ScriptedAsk, as_reply

ANLI = [
    {"context": "He coughs.", "hypothesis": "He has a cough.", "label": "e"},
    {"context": "He coughs.", "hypothesis": "He smokes.", "label": "n"},
    {"context": "He coughs.", "hypothesis": "He is well.", "label": "c"},
]
MEDNLI = [{"sentence1": "No fever.", "sentence2": "Fever.", "gold_label": "contradiction"}]


def write(folder: Path, name: str, lines: list[dict[str, str]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def judge(call: Call) -> Said:
    """Entailed, and supported, is what has a cough in it; nothing else is in the text."""
    yes = "He has a cough." in call.messages[-1].content
    if call.reply is ClaimVerdicts or "entailed" in str(call.reply.model_json_schema()):
        return as_reply(call, json.dumps({"verdicts": [{"claim": 1, "explanation": "", "entailed": yes}]}))
    verdict = "supported" if yes else "absent"
    return as_reply(call, json.dumps({"verdicts": [{"claim": 1, "explanation": "", "verdict": verdict}]}))


def test_pairs_are_judged_in_two_classes_and_in_three(tmp_path: Path) -> None:
    """Of one pair of each label, all are right in two classes, and in three that which contradicts is not."""
    write(tmp_path / "entailment", "anli_r1", ANLI)
    write(tmp_path / "entailment", "mednli", MEDNLI)
    pairs = read_sets(tmp_path)
    assert pairs["item"].tolist() == ["anli_r1"] * 3 + ["mednli"]
    ask = ScriptedAsk(judge)
    ask.label = "gpt-4-0613"
    made = asyncio.run(judge_pairs(ask, pairs, DocLens(style="json_cot", examples=2)))
    assert made["unscored"].empty
    found = figures(VERDICTS.validate(made["verdicts"]), METRICS, stage="s", seed=1, provenance="judge: gpt-4-0613")
    accuracy = found[found["metric"] == "accuracy"].set_index(["condition", "item"])["value"]
    assert accuracy["two classes, json_cot"].to_dict() == {"anli_r1": 1, "mednli": 1}
    assert accuracy["three classes"].to_dict() == {"anli_r1": pytest.approx(2 / 3), "mednli": 0}
    tables = {"published/entailment_sets": found}
    rows = [row for name in ("Table 4", "Table 5") for row in compared(items()["doclens", name], tables, PUBLISHED)]
    ours = {(row["table"], row["row"], row["column"]) for row in rows if row["basis"] == "stand-in: gpt-4-0613"}
    styled = "GPT-4 (2-shot) + JSON + CoT"
    named = {("Table 4", styled, "anli_r1"), ("Table 4", styled, "mednli"), ("Table 5", "GPT-4 + JSON+CoT", "mednli")}
    assert ours == named


@pytest.mark.parametrize(
    ("line", "said"), [({"context": "a", "label": "e"}, "no claim"), (ANLI[0] | {"label": "x"}, "x")]
)
def test_a_line_that_is_no_labelled_pair_is_named(tmp_path: Path, line: dict[str, str], said: str) -> None:
    write(tmp_path / "entailment", "anli_r2", [*ANLI, line])
    with pytest.raises(SourceError, match=rf"anli_r2\.jsonl, line 4: .*{said}"):
        read_sets(tmp_path)
