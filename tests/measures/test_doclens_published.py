"""Published outputs on ACI-BENCH beside DocLens's printed figures: ROUGE, and recall by rules."""

import asyncio

import numpy as np
import pandas as pd
import pytest

from schemas.params.measures import DocLens, Overlap
from schemas.tables.verdicts import in_order
from tasks.measures.doclens.judging import METRICS, Plan
from tasks.measures.doclens.judging import judge as judge_claims
from tasks.measures.doclens.published import (
    ACI_BENCH,
    BASELINE,
    OPEN_SYSTEMS,
    distance_metrics,
    judged_by_rules,
    output_table,
    section_recalls,
)
from tasks.measures.measure import figures
from tasks.papers.printed import items, load_printed
from tasks.papers.reproduction import PUBLISHED, compared
from tasks.texts.aci_bench import read_encounters
from tasks.texts.document import Document
from tests.support.scripted import ScriptedAsk
from tests.support.sources import needs_sources, sources_folder

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
    return [load_printed(f"doclens_{stem}") for stem in stems]


SECTIONS_GPT_4, SECTIONS_TRUE = _printed("table25_aci_sections_gpt4", "table27_aci_sections_true")


@pytest.fixture(scope="module")
def aci() -> list[Document]:
    folder = sources_folder()
    systems = {name: f"aci_bench/predictions/{file}.csv" for name, file in zip(NAMES, FILES, strict=True)}
    return read_encounters(folder, systems, subclaims=True)


@needs_sources
def test_sixteen_cells_go_with_gpt_4_and_rouge_by_section_is_right_to_the_last_digit(aci: list[Document]) -> None:
    """What Table 24 reports of GPT-4 and ChatGPT is about ACI-BENCH's outputs; DocLens prompted others."""
    plan, by = Plan(sections="soap", precision=False), DocLens(evaluator="simulator")
    by_rules = asyncio.run(judge_claims(ScriptedAsk(lambda _: "unasked"), aci, plan, by))["verdicts"]
    recalls = section_recalls(by_rules, aci)
    some = by_rules[by_rules["document"].isin([one.id for one in aci[:3]])]
    pd.testing.assert_frame_equal(asyncio.run(judged_by_rules(some.assign(value=np.nan), aci)), in_order(some))
    outputs = output_table(SECTIONS_GPT_4, aci, recalls, Overlap(), seed=1)
    distances = distance_metrics(SECTIONS_GPT_4, {"TRUE": SECTIONS_TRUE}, {"rules": recalls}, seed=1)
    judged = figures(by_rules, METRICS, stage="doclens", seed=1, provenance="judge: rules")
    tables = {"published/doclens_outputs": outputs, "published/doclens_aci": pd.concat([judged, distances])}

    rouge = compared(items()["doclens", "Table 24"], tables, PUBLISHED)
    assert len(rouge) == 48 + 24 and sum("Reported" in row["row"] for row in rouge) == 24
    assert all(abs(row["published"] - row["reproduced"]) <= row["tolerance"] + 1e-9 for row in rouge)

    rows = pd.DataFrame(compared(items()["doclens", "Table 25"], tables, PUBLISHED)).set_index(["row", "column"])
    assert rows.loc[("16 cells", "mean absolute difference"), "reproduced"] <= 10
    assert rows.loc[("16 cells", "correlation"), "reproduced"] >= 0.97
    assert set(rows["basis"]) == {"stand-in: rules"}
    assert rows.index.get_level_values("row").str.contains("0-shot").sum() == 8
    whole = pd.DataFrame(compared(items()["doclens", "Table 21"], tables, PUBLISHED))
    near = (whole["published"] - whole["reproduced"]).abs().groupby(whole["row"].isin(OPEN_SYSTEMS)).max()
    assert near[True] < near[False], "ACI-BENCH's outputs of GPT-4 and ChatGPT are not the paper's"

    found = distances.set_index(["system", "metric"])["value"]
    assert found["TRUE", "mean absolute difference"] == pytest.approx(0.011, abs=0.0005)
    baseline = found[BASELINE, "mean absolute difference"]
    assert rows.loc[("16 cells", "mean absolute difference"), "tolerance"] == pytest.approx(100 * baseline)
