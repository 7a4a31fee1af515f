"""Experts compare outputs whose metrics disagree, and grade answers; their files are checked and scored."""

import json

import pandas as pd
import pytest

from schemas.errors import SourceError
from schemas.tables.metrics import METRICS
from schemas.tables.verdicts import verdict_table
from tasks.measures.doclens.form import METRICS as DISPUTED
from tasks.measures.doclens.form import disputed_pairs, preference_form, preference_rows, shown_pairs
from tasks.measures.note_qa.form import free_answers, grading_form, grading_rows
from tasks.statistics.metric_rows import metric_table
from tasks.texts.document import Document
from tests.support.qa import questions_by_hand
from tests.support.returned import file_of

EXAM = "PHYSICAL EXAM\n"
DOCUMENT = Document(
    "v1",
    ("t",),
    reference=f"{EXAM}Lungs clear. No edema.",
    outputs={"a": f"{EXAM}Clear.", "b": f"{EXAM}Lungs clear. Edema.", "c": f"{EXAM}None."},
)
RECALLS = pd.DataFrame(
    [
        ("v1", "objective_exam", "a", 1.0, 0.2),
        ("v1", "objective_exam", "b", 0.5, 0.9),
        ("v1", "objective_exam", "c", 0, 0),
    ],
    columns=["document", "item", "system", *DISPUTED],
)
CLAIMS = verdict_table(
    [
        {"document": "v1", "system": "a", "condition": "j", "item": "objective_exam", "metric": "claim_recall"}
        | {"unit": str(at), "text": text, "value": 1.0}
        for at, text in enumerate(["Lungs are clear.", "There is no edema."])
    ],
    judge="j",
)


def pairs() -> pd.DataFrame:
    return shown_pairs(disputed_pairs(RECALLS, seed=7), CLAIMS, [DOCUMENT])


def test_only_outputs_that_the_metrics_rank_in_opposite_order_are_compared_and_no_system_is_named() -> None:
    found = pairs()
    assert len(found) == 1 and {found.loc[0, f"system_{side}"] for side in ("first", "second")} == {"a", "b"}
    assert json.loads(found.loc[0, "claims"]) == ["Lungs are clear.", "There is no edema."]
    page = preference_form(found).filled("expert")
    assert "Lungs clear. Edema." in page and "system" not in json.dumps(preference_form(found).content)


def said(better: str, found: dict[str, int]) -> dict[str, object]:
    """Of ``found`` claims of each output, the first ones."""
    yes = {f"{side} {at}": "yes" if at < n else "no" for side, n in found.items() for at in range(2)}
    return {"record": "0", "answers": {**yes, "preferred": better}, "comment": ""}


def test_metrics_and_experts_are_compared_on_the_pairs() -> None:
    """Both experts find both claims in output a and one in b, as claim recall has it; one prefers a, the other b."""
    form, table = preference_form(pairs()), pairs()
    a, b = ("first", "second") if table.loc[0, "system_first"] == "a" else ("second", "first")
    files = {
        f"{rater}.json": file_of(form, rater, answers=[said(better, {a: 2, b: 1})])
        for rater, better in (("x", a), ("y", b))
    }
    rows = preference_rows(table, form.chosen(files), system="metrics", provenance="p")
    found = METRICS.validate(metric_table(rows, stage="doclens", seed=1)).set_index(["item", "metric"])["value"]
    assert found["claim_recall", "spearman"] == pytest.approx(1) and found["rougeL_r", "kendall"] == pytest.approx(-1)
    assert found["claim_recall", "preference_agreement"] == found["rougeL_r", "preference_agreement"] == 0.5
    assert found["experts", "spearman_among_people"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"preferred": "both"}, "preferred: 'both'"),
        ({"first 9": "yes"}, "first 9: 'yes'"),
        ({"first 0": None}, "first 0"),
    ],
)
def test_an_answer_that_is_no_option_is_refused(changed: dict[str, str], message: str) -> None:
    answer = said("first", {"first": 2, "second": 2})
    answer["answers"] = {**answer["answers"], **changed}  # type: ignore[dict-item]
    answer["answers"] = {name: given for name, given in answer["answers"].items() if given is not None}
    form = preference_form(pairs())
    with pytest.raises(SourceError, match=f"pair 0: {message}.*expected one of the question's options"):
        form.chosen({"x.json": file_of(form, "x", answers=[answer])})


def test_free_answers_of_all_models_are_graded_unnamed() -> None:
    """Of two questions, model m is right once by the clinician, and model n never."""
    questions = questions_by_hand()
    names = questions["question"].tolist()[:2]
    about = {"condition": "free_text/normal", "item": "all", "metric": "score", "unit": "0"}
    rows = [
        {**about, "document": name, "system": system, "text": f"{system} on {name}", "value": 1.0}
        for name in names
        for system in ("m", "n")
    ]
    answers = free_answers(verdicts := verdict_table(rows, judge="j"), seed=7)
    notes = dict.fromkeys(questions["patient"], "The notes.")
    form = grading_form(answers, questions, notes)
    assert form.id == grading_form(answers, questions).id, "without the notes, which are not kept"
    assert len(form.records) == 4 and "The notes." in form.filled("clinician")
    right = answers.loc[(answers["system"] == "m") & (answers["question"] == names[0]), "record"].item()
    given = [{"record": one, "answers": {"right": "yes" if one == right else "no"}} for one in form.records]
    chosen = form.chosen({"x.json": file_of(form, "x", answers=given)})
    graded = metric_table(grading_rows(answers, chosen, verdicts), stage="s", provenance="p").set_index("system")[
        "value"
    ]
    assert graded.to_dict() == {"m": 0.5, "n": 0.0}
