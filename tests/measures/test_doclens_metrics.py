"""DocLens scores by hand, and judgements by models of entailment."""

import numpy as np
import pandas as pd
import pytest

from schemas.params.measures import Overlap
from schemas.tables.metrics import METRICS
from schemas.tables.verdicts import Judgement, verdict_table
from tasks.judges.edits import KINDS, change
from tasks.measures.doclens.agreement import disagreements, recorded_rows, rules_agreement, section_preferences
from tasks.measures.doclens.citations import CitedStatement, necessary_citations
from tasks.simulator.reader.entailment import align, entails
from tasks.texts.aci_bench import read_encounters
from tasks.texts.document import Document
from tests.support.cases import from_table
from tests.support.sources import needs_sources, sources_folder


def judged(*texts: tuple[Judgement, ...], metric: str = "claim_recall", item: str = "all") -> pd.DataFrame:
    """VERDICTS of one system: the judgements of each document."""
    about = {"system": "s", "condition": "c", "item": item, "metric": metric, "text": ""}
    rows = [
        {"document": f"d{at}", "unit": str(place), "value": None if one is None else float(one), **about}
        for at, judgements in enumerate(texts)
        for place, one in enumerate(judgements)
    ]
    return verdict_table(rows, judge="j")


def test_redundant_citation_of_figure_3() -> None:
    # "[21][22][23]": only 21 and 22 together support the statement, so both are needed and 23 is not.
    statement = CitedStatement(True, alone=(False, False, False), without=(False, False, True))
    assert necessary_citations(statement) == [True, True, False]


@from_table
def test_a_citation_is_necessary_if_it_suffices_or_the_rest_does_not(
    supported: Judgement, alone: Judgement, without: Judgement, necessary: Judgement
) -> None:
    assert necessary_citations(CitedStatement(supported, (alone,), (without,))) == [necessary]


def test_metrics_disagree_on_a_pair_that_they_rank_in_opposite_order() -> None:
    assert disagreements([1, 0, 0.5], [0.2, 0.1, 0.9]) == (1, 3)
    assert disagreements([1, 1], [0, 1]) == (0, 1)  # a tie agrees with both orders


def test_preferences_of_claim_recall_and_rouge_are_compared_by_section() -> None:
    note = "PHYSICAL EXAM\nThe lungs are clear to auscultation.\nPLAN\nRest."
    outputs = {"copies": note, "differs": "PHYSICAL EXAM\nNo wheezes.\nPLAN\nRest."}
    document = Document("d0", ("x",), note, outputs=outputs)
    recalls = [
        judged((system == "differs",), item=item).assign(system=system)
        for item in ("objective_exam", "assessment_and_plan")
        for system in outputs
    ]
    found = METRICS.validate(section_preferences(pd.concat(recalls), [document], [], seed=1, provenance="p"))
    value = found.set_index(["item", "system"])["value"]
    assert value["objective_exam", "claim_recall and rougeL_r"] == 1
    assert value["assessment_and_plan", "claim_recall and rougeL_r"] == 0


NOTE = """HISTORY OF PRESENT ILLNESS

Ms. Reed is a 54-year-old female who reports shortness of breath for 3 weeks. She denies chest pain, fever, or chills.
She takes lisinopril 20 mg daily.

PHYSICAL EXAM

Lungs: Clear bilaterally. No wheezes.
Right knee: Swelling and tenderness. Negative Lachman.

ASSESSMENT AND PLAN

Hypertension.
• Medical Treatment: Continue lisinopril 20 mg daily.
"""


@from_table
def test_a_claim_is_entailed_or_not(text: str | None, claim: str, entailed: bool) -> None:
    text = NOTE if text is None else text
    assert entails(text, claim) is entailed, align(text, claim)


@from_table
def test_a_drug_outside_the_word_lists_is_not_entailed_by_another(text: str, drug: str, other: str) -> None:
    assert entails(text, text) and not entails(text, text.replace(drug, other))


@pytest.mark.soak
@needs_sources
def test_own_claims_are_entailed_and_changed_or_other_notes_claims_are_not() -> None:
    folder = sources_folder()
    documents = sorted(read_encounters(folder, {}, subclaims=True), key=lambda one: one.id)
    random = np.random.default_rng(5)
    own, foreign, changed = [], [], []
    for at, document in enumerate(documents):
        note = str(document.reference)
        other = str(documents[(at + 1 + int(random.integers(len(documents) - 1))) % len(documents)].reference)
        for claim in (claim for claims in (document.claims or {}).values() for claim in claims):
            own.append(entails(note, claim))
            foreign.append(entails(other, claim))
            made = [change(claim, kind, random) for kind in KINDS]
            changed += [entails(note, one) for one in made if one is not None]
    assert np.mean(own) >= 0.75 and np.mean(foreign) <= 0.05 and np.mean(changed) <= 0.15


def test_the_rules_are_compared_with_a_judge_on_the_same_claims() -> None:
    """Equal verdicts on 3 of 4 claims, chance 1/2: kappa (0.75 - 0.5) / 0.5; a failed verdict is no pair."""
    model, rules = (judged(one, (True, False)) for one in ((True, False, None), (True, True, True)))
    found = METRICS.validate(rules_agreement(model, rules, "m", seed=1)).set_index("metric")
    assert (found.loc["agreement", "value"], found.loc["agreement", "n"]) == (0.75, 4)
    assert found.loc["kappa", "value"] == pytest.approx(0.5)


def test_a_recorded_judge_has_rows_of_its_own_with_differences_of_systems() -> None:
    texts = {"a": "SUBJECTIVE\nCough.", "b": "SUBJECTIVE\nPain."}
    documents = [Document(f"d{at}", ("t",), reference="SUBJECTIVE\nCough.", outputs=texts) for at in range(2)]
    whole = [
        judged((True,), (one,), item="subjective").assign(system=name) for name, one in (("a", True), ("b", False))
    ]
    found = METRICS.validate(recorded_rows(pd.concat(whole), documents, Overlap(), "model", seed=1))
    apart = found[(found["metric"] == "claim_recall_difference")].iloc[0]
    assert (apart["system"], apart["condition"], apart["value"], apart["n"]) == ("a against b", "model", 0.5, 2)
    words = found["metric"] == "words_difference"
    assert found["condition"].str.contains("model").eq(~words).all() and found.loc[words, "value"].item() == 0
