"""Accuracy by prompt style on claims with known truth, and agreement of evaluators on systems (DocLens)."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.params.measures import DocLens
from schemas.tables.columns import typed
from schemas.tables.evaluation import JUDGED
from schemas.tables.metrics import METRICS
from tasks.judges.prompt_styles import UNCHANGED, judge_styles, printed_style_rows, reference_instances, style_rows
from tasks.llm.calls import Call
from tasks.measures.doclens import evaluators
from tasks.measures.doclens.agreement import evaluator_agreement
from tasks.texts.document import Document
from tests.support.scripted import DirectAsk, ScriptedAsk

NOTE = "CHIEF COMPLAINT\nThe patient denies fever. A cough for 3 days.\n\nPHYSICAL EXAM\nRight knee is swollen."
CLAIMS = {"subjective": ("The patient denies fever.",), "objective_exam": ("The right knee is swollen.", "It hurts.")}
DOCUMENT = Document("D1", ("[doctor] hi",), NOTE, claims=CLAIMS)


def _printed(stem: str) -> pd.DataFrame:
    return pd.read_csv(Path("tasks/reproduction/published") / f"doclens_{stem}.csv")


def test_a_claim_is_true_of_its_section_and_false_after_a_change() -> None:
    made = reference_instances([DOCUMENT], claims=9, seed=1)
    true, false = made[made["entailed"]], made[~made["entailed"]]
    assert true["claim"].tolist() == [*CLAIMS["subjective"], *CLAIMS["objective_exam"]]
    assert false["kind"].ne(UNCHANGED).all() and not set(false["claim"]) & set(true["claim"])
    assert made["premise"].str.contains("knee").tolist() == made["key"].str.contains("objective_exam").tolist()
    assert reference_instances([DOCUMENT], claims=2, seed=1)["entailed"].sum() == 2


def test_the_rules_reach_the_same_verdicts_in_all_styles() -> None:
    made = reference_instances([DOCUMENT], claims=9, seed=1)
    verdicts, unscored = asyncio.run(judge_styles(DirectAsk(), made, DocLens(), rules=True))
    table = check(style_rows(verdicts, seed=7, provenance="rules"), METRICS, "styles")
    overall = table[table["item"] == "all"]
    assert len(overall) == 5 and overall["value"].nunique() == 1 and unscored == []
    assert table["n"].sum() == 2 * 5 * len(made)


def test_a_failed_judgement_is_unscored_and_no_error_of_the_judge() -> None:
    made = reference_instances([DOCUMENT], claims=9, seed=1)

    def script(call: Call) -> str:
        return "no idea" if "changed" in call.key else "1: 1"

    verdicts, unscored = asyncio.run(judge_styles(ScriptedAsk(script), made, DocLens(), rules=False))
    table = style_rows(verdicts, seed=7, provenance="m").set_index(["system", "item"])
    rows, bounds = table[table["metric"] == "accuracy"], table[table["metric"] == "accuracy_bounds"]
    true, false = made["entailed"].sum(), (~made["entailed"]).sum()
    assert rows.loc[("judge, plain", "all"), ["value", "n", "unscored"]].tolist() == [1, true, false]
    assert bounds.loc[("judge, plain", "all"), ["low", "high"]].tolist() == pytest.approx([true / (true + false), 1])
    assert {row["step"] for row in unscored} >= {"accuracy by prompt style, judge, plain"}


def test_a_named_nli_model_judges_the_same_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    never = SimpleNamespace(label="never", entail=lambda pairs: [False] * len(pairs))
    monkeypatch.setattr(evaluators, "_nli", lambda *_: never)
    made = reference_instances([DOCUMENT], claims=9, seed=1)
    verdicts, _ = asyncio.run(judge_styles(DirectAsk(), made, DocLens(nli_model="org/model"), rules=False))
    rows = style_rows(verdicts, seed=7, provenance="m").set_index(["system", "item"])
    assert rows.loc[("org/model", "all"), "value"] == (~made["entailed"]).mean()


def test_printed_accuracies_are_shares_with_the_size_of_their_test_set() -> None:
    stems = ("table4_nli_2way", "table5_mednli_3way", "table6_claim_recall_20", "table7_claim_recall_100")
    table = check(printed_style_rows(*map(_printed, stems)), METRICS, "styles").set_index(["item", "system"])
    best = table.loc[("100 sentences of ACI-BENCH (Table 7)", "GPT-4 (2-shot) + JSON + CoT")]
    assert (best["value"], best["n"]) == (0.66, 100)
    assert len(table) == 9 * 4 + 12 + 8 + 7


def test_evaluators_are_compared_on_the_means_of_systems() -> None:
    whole = {"GPT-4": _printed("table21_aci_gpt4"), "TRUE": _printed("table23_aci_true")}
    sections = {"GPT-4": _printed("table25_aci_sections_gpt4"), "TRUE": _printed("table27_aci_sections_true")}
    names = whole["GPT-4"]["system"][:2]  # the paper's evaluators prefer the second
    rows = [("e", name, "c", "subjective", "claim_recall", 0, "", name == names[0]) for name in names]
    judged = typed(pd.DataFrame(rows, columns=list(JUDGED.columns)), JUDGED)
    table = evaluator_agreement(whole, sections, {"judge": judged}, seed=7)
    found = check(table, METRICS, "agreement").set_index(["system", "item", "metric"])["value"]
    recall = "claim_recall, whole notes"
    assert found["GPT-4 and TRUE", recall, "kendall"] == pytest.approx(0.95)
    assert found["GPT-4 and judge", recall, "same_preference"] == 0
    assert found["GPT-4 and judge", recall, "kendall"] == -1
    assert dict(zip(table["system"], table["provenance"], strict=True)) == {
        "GPT-4 and TRUE": "printed tables",
        **{f"{name} and judge": "printed tables and judge" for name in whole},
    }
