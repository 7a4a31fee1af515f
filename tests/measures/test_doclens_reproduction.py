"""DocLens's printed figures next to ours: NLI means, lengths, ROUGE, recall by the simulator's rules, precision."""

import asyncio

import numpy as np
import pandas as pd
import pytest

from schemas.params.measures import DocLens
from tasks.measures.doclens.judging import Plan
from tasks.measures.doclens.judging import judge as judge_claims
from tasks.measures.doclens.reproduction import (
    ACI_BENCH,
    OPEN_SYSTEMS,
    distance_metrics,
    judged_by_rules,
    nli_mean_rows,
    precision_rows,
    recall_rows,
    reproduction_rows,
    rouge_rows,
    section_recalls,
    whole_note_rows,
    word_rows,
)
from tasks.measures.measure import in_order
from tasks.reproduction.published import judge, load_published
from tasks.texts.aci_bench import read_encounters
from tasks.texts.document import Document
from tests.measures.test_doclens_metrics import judged
from tests.support.scripted import ScriptedAsk
from tests.support.sources import needs_sources, sources_folder

BART, _, BIOBART, _ = OPEN_SYSTEMS
NAMES = (*OPEN_SYSTEMS, *ACI_BENCH.values())
FILES = (
    "bart-large-xsum-samsum_clinicalnlp_taskB_test1_full",
    "bart-large-xsum-samsum_clinicalnlp_taskB_test1_division_combined",
    "BioBART_clinicalnlp_taskB_test1_full",
    "BioBART_clinicalnlp_taskB_test1_division_combined",
    "test1ChatGPT",
    "test1GPT-4",
)


def _printed(*stems: str) -> list[pd.DataFrame]:
    return [load_published(f"doclens_{stem}") for stem in stems]


ROUGE = _printed("table20_aci_rouge_medcon", "table24_aci_sections_existing")
GPT_4, SECTIONS_GPT_4 = _printed("table21_aci_gpt4", "table25_aci_sections_gpt4")


@pytest.fixture(scope="module")
def aci() -> list[Document]:
    folder = sources_folder()
    systems = {name: f"aci_bench/predictions/{file}.csv" for name, file in zip(NAMES, FILES, strict=True)}
    return read_encounters(folder, systems, subclaims=True)


def test_means_of_nli_accuracies_follow_from_the_printed_ones_but_for_two_models() -> None:
    rows = judge(reproduction_rows(nli_mean_rows(*_printed("table1_nli", "table4_nli_2way"))))
    missed = rows[rows["verdict"] == "fail"].set_index(["row", "column"])["reproduced"]
    assert len(rows) == 27
    assert missed.to_dict() == {
        ("TRUE", "anli"): pytest.approx(71.73, abs=0.01),  # printed 71.5, the mean weighted by the size of the sets
        ("GPT-4 (2-shot) + CoT", "mean"): pytest.approx(87.93, abs=0.01),  # printed 88.2
        ("GPT-4 (2-shot) + CoT", "weighted_mean"): pytest.approx(87.93, abs=0.01),
    }


@needs_sources
def test_the_printed_mean_length_of_one_system_is_that_of_another(aci: list[Document]) -> None:
    rows = reproduction_rows(word_rows(*_printed("section42_words"), aci)).set_index("row")
    assert rows.loc[BART, "reproduced"] == pytest.approx(192.15)
    assert np.mean([len(one.outputs[BIOBART].split()) for one in aci]) == pytest.approx(179.4, abs=0.05)
    assert rows.index.tolist() == [BART], "of GPT-4 there are no outputs"


@needs_sources
def test_rouge_of_published_outputs_to_the_last_digit(aci: list[Document]) -> None:
    """Those that Table 24 reports of GPT-4 and ChatGPT are ACI-BENCH's; those that DocLens prompted are others."""
    rows = reproduction_rows(rouge_rows(*ROUGE, aci))
    assert len(rows) == 60 + 24 and rows["row"].str.contains("Reported").sum() == 24
    assert ((rows["published"] - rows["reproduced"]).abs() <= rows["tolerance"] + 1e-9).all()


@needs_sources
def test_sixteen_cells_lie_near_gpt_4(aci: list[Document]) -> None:
    plan, by = Plan(sections="soap", precision=False), DocLens(evaluator="simulator")
    by_rules = asyncio.run(judge_claims(ScriptedAsk(lambda _: "unasked"), aci, plan, by))["verdicts"]
    recalls = section_recalls(by_rules, aci)
    again = asyncio.run(judged_by_rules(by_rules.assign(value=np.nan), aci))
    pd.testing.assert_frame_equal(again, in_order(by_rules))
    rows = reproduction_rows(recall_rows(SECTIONS_GPT_4, recalls, "rules")).set_index(["row", "column"])
    assert rows.loc[("16 cells", "mean absolute difference"), "reproduced"] <= 4
    assert rows.loc[("16 cells", "correlation"), "reproduced"] >= 0.97
    whole = reproduction_rows(whole_note_rows(GPT_4, by_rules, "rules"))
    near = (whole["published"] - whole["reproduced"]).abs().groupby(whole["row"].isin(OPEN_SYSTEMS)).max()
    assert near[True] <= 4 < near[False], "ACI-BENCH's outputs of GPT-4 and ChatGPT are not the paper's"
    assert (
        set(rows["basis"]) == {"stand-in: rules"}
        and rows.index.get_level_values("row").str.contains("0-shot").sum() == 8
    )
    others = {"TRUE": _printed("table27_aci_sections_true")[0]}
    beside = distance_metrics(SECTIONS_GPT_4, others, {"ours": recalls}, seed=1)
    found = beside.set_index(["system", "metric"])["value"]
    assert found["TRUE", "mean absolute difference"] == pytest.approx(0.011, abs=0.0005)
    baseline = found["section present, no claim read", "mean absolute difference"]
    assert rows.loc[("16 cells", "mean absolute difference"), "tolerance"] == pytest.approx(100 * baseline)


def test_printed_precision_is_compared_with_means_over_notes_by_section() -> None:
    table = judged((True, False), (True,), metric="claim_precision", item="subjective").assign(system=BART)
    rows = reproduction_rows(precision_rows(GPT_4, SECTIONS_GPT_4, table, "gpt-4o"))
    found = rows.set_index(["table", "row"])
    assert found["reproduced"].to_dict() == {("Table 21", BART): 75, ("Table 25", f"Subjective / {BART}"): 75}
    values = np.array([48.11, 30.38, 42.43, 26.10])
    others = (values.sum() - values) / 3
    assert found.loc[("Table 21", BART), "tolerance"] == pytest.approx(np.abs(others - values).mean())


def test_outputs_of_another_source_are_compared_whether_or_not_they_pass() -> None:
    """Precision 0.75 of ACI-BENCH's GPT-4, printed 75.67, and of its ChatGPT, printed 69.74: 5.93 apart."""
    table = judged((True, False), (True,), metric="claim_precision", item="all")
    both = pd.concat([table.assign(system=name) for name in ACI_BENCH.values()])
    rows = judge(reproduction_rows(precision_rows(GPT_4, SECTIONS_GPT_4, both, "gpt-4o")))
    found = rows.set_index("row")
    assert found["tolerance"].tolist() == pytest.approx([5.93, 5.93])
    assert found["verdict"].to_dict() == {"GPT-4 (full, 0-shot)": "pass", "GPT-3.5-turbo (full, 0-shot)": "pass"}


def test_figures_that_the_mean_of_the_others_meets_are_left_out() -> None:
    """Of 48.11, 30.38, 42.43 and 26.10, two are within 11.35 of the others' mean: 30.38 (38.88) and 42.43 (34.86)."""
    table = judged((True, False), (True,), metric="claim_precision", item="all")
    every = pd.concat([table.assign(system=name) for name in OPEN_SYSTEMS])
    rows = reproduction_rows(precision_rows(GPT_4, SECTIONS_GPT_4, every, "gpt-4o"))
    assert rows["published"].tolist() == [48.11, 26.10]
    assert rows["tolerance"].tolist() == pytest.approx([11.3533] * 2, abs=1e-4)
    two = every[every["system"].isin(OPEN_SYSTEMS[1:3])]  # the two that were left out; alone, they have no such mean
    assert reproduction_rows(precision_rows(GPT_4, SECTIONS_GPT_4, two, "m"))["published"].tolist() == [30.38, 42.43]
