"""The clinicians' form: content, returned files, and agreement."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from flows.commands.parser import run
from flows.evaluation.api import evaluate
from flows.evaluation.forms import clinicians_agreement, form_files
from schemas.errors import SourceError
from schemas.params.measures import FormSample
from schemas.tables.metrics import METRICS
from schemas.tables.verdicts import PERSON
from tasks.measures.med_omit.form import (
    OmissionForm,
    agreement_between,
    agreement_with_judge,
    judged_facts,
    omission_form,
    omission_labels,
)
from tasks.measures.med_omit.judging import GRADED
from tests.measures.med_omit_examples import differential, facts_judged
from tests.support.params import shipped
from tests.support.returned import file_of, validated

FACTS = [
    {"fact": "F0", "text": "Has a fever.", "category": "critical", "supports": ["pneumonia"]},
    {"fact": "F1", "text": "Coughs <b>a lot</b>.", "category": "important", "supports": ["pneumonia", "asthma"]},
    {"fact": "F2", "text": "Smokes.", "category": "other", "refutes": ["asthma"]},
    {"fact": "F3", "text": "Has a dog."},
]
OMITTED = {"F0": True, "F1": False, "F2": False, "F3": True}
JUDGED = pd.concat(
    [
        facts_judged(
            {**one, "document": "7", "weight": 0.5, "omitted": {"s": OMITTED[str(one["fact"])]}} for one in FACTS
        ),
        differential("7", pneumonia="probable", asthma="possible", gout="unlikely"),
    ],
    ignore_index=True,
)


FORM = omission_form(JUDGED, "s", FormSample(), seed=1)


def _file(rater: str, *included: str, category: str = "critical", **changes: object) -> str:
    facts = validated([f"7/F{at}" for at in range(len(included))], included, category)
    return file_of(FORM, rater, facts=facts, **changes)


def test_a_form_holds_the_graded_facts_and_says_how_many_were_needed() -> None:
    assert list(FORM.shown["fact"]) == ["F0", "F1", "F2"]  # F3 has no grade
    assert "No number of facts of so few documents is enough" in FORM.explanation()
    assert "Facts without a grade or a verdict, which are not on it: 1." in FORM.explanation()
    independent = omission_form(JUDGED, "s", FormSample(correlation=0), seed=1)
    assert "all 3 facts that were judged. 171 would be needed" in independent.explanation()


def test_a_form_of_many_facts_is_a_random_sample_with_the_power_asked_for() -> None:
    facts = facts_judged(
        {**FACTS[0], "fact": f"F{at}", "document": str(at % 200), "omitted": {"s": at < 200}} for at in range(1000)
    )
    form = omission_form(facts, "s", FormSample(), seed=1)
    assert len(form.shown) == 171, "as many as of independent facts: nearly each is of another document"
    assert 0.1 < form.shown["omitted"].mean() < 0.3  # as often as among all facts
    text = form.explanation()
    assert "171 of 1,000 facts" in text and "80%" in text and "10 percentage points" in text
    more = omission_form(facts, "s", FormSample(difference=0.05), seed=1)
    assert len(more.shown) > 500


def test_form_shows_all_diagnoses_with_likelihoods_even_those_without_evidence() -> None:
    html = FORM.filled(JUDGED, {"7": "Coughs."}, "a")
    for diagnosis in ("pneumonia (probable)", "asthma (possible)", "gout (unlikely)"):
        assert diagnosis in html
    assert not re.search(r'"judge": ?{', html), "its answers would anchor the clinician"
    asked = omission_form(JUDGED, "s", FormSample(show_judge=True), seed=1).filled(JUDGED, {"7": "Coughs."}, "a")
    said = re.findall(r'"judge": ?{([^}]*)}', asked)
    assert len(said) == 3 and said[2] == '"category": "other", "refutes": 1, "supports": 0'


def test_partial_inclusion_is_an_omission_and_by_figure_5_an_inclusion() -> None:
    given = FORM.validations({"a.json": _file("a", "no", "yes", "partially")})
    rows = agreement_with_judge(FORM.shown, given, seed=1, provenance="p")
    found = rows[rows["item"] == "omission"].set_index("metric")["value"]
    assert found["agreement"] == pytest.approx(2 / 3), "the judge finds F2 included"
    assert found["agreement_figure_5"] == 1


def test_agreement_with_the_judge() -> None:
    given = FORM.validations({"a.json": _file("a", "no", "yes", "no")})
    rows = METRICS.validate(agreement_with_judge(FORM.shown, given, seed=1, provenance="p"))
    found = rows.set_index(["item", "metric"])["value"]
    assert found["omission", "agreement"] == pytest.approx(2 / 3)  # F2: the judge has it, the clinician not
    assert found["omission", "omission_share_difference"] == pytest.approx(-1 / 3)
    assert found["importance", "agreement"] == pytest.approx(1 / 3)
    assert found["supports", "mean_absolute_difference"] == pytest.approx(2 / 3)  # 0, 1, 1
    assert found["omitted / no", "confusion"] == 1
    assert found["present / no", "confusion"] == 1


def test_agreement_of_clinicians_is_kappa_unweighted_and_linear() -> None:
    files = {"a.json": _file("a", "yes", "partially", "no"), "b.json": _file("b", "yes", "no", "no")}
    rows = METRICS.validate(agreement_between(FORM.shown, FORM.validations(files), seed=1, provenance="p"))
    found = rows.set_index(["item", "metric"])["value"]
    assert found["included", "exact_match"] == found["included: a and b", "exact_match"] == pytest.approx(2 / 3)
    # Observed 2/3; by chance P(yes)P(yes) + P(no)P(no) = 1/9 + 2/9 = 1/3: kappa (2/3 - 1/3) / (1 - 1/3)
    assert found["included: a and b", "kappa"] == pytest.approx(0.5)
    # Distances in ranks: observed 1/3, by chance (4/3 + 1 + 2/3) / 3 = 1
    assert found["included: a and b", "kappa_linear"] == pytest.approx(2 / 3)
    assert found["category: a and b", "exact_match"] == 1


def test_facts_without_an_answer_are_unscored() -> None:
    """Of three facts, a answers two, and b one."""
    given = FORM.validations({"a.json": _file("a", "yes", "no"), "b.json": _file("b", "yes")})
    made = [of(FORM.shown, given, seed=1, provenance="p") for of in (agreement_with_judge, agreement_between)]
    with_judge, between = (METRICS.validate(rows).set_index(["item", "metric"])[["n", "unscored"]] for rows in made)
    counts = {name: tuple(with_judge.loc[(name, "agreement")]) for name in ("omission", "omission, a", "omission, b")}
    assert counts == {"omission": (3, 3), "omission, a": (2, 1), "omission, b": (1, 2)}
    assert set(between.itertuples(index=False, name=None)) == {(1, 2)}
    rows = agreement_with_judge(FORM.shown, given[:0], seed=1, provenance="p")
    assert rows["n"].eq(0).all() and rows["unscored"].eq(0).all(), "nobody was asked"


def test_evidence_that_the_judge_failed_to_name_is_unscored_and_not_none() -> None:
    given = FORM.validations({"a.json": _file("a", "no", "no", "no")})
    failed = JUDGED.assign(weight=JUDGED["weight"].mask(JUDGED["metric"].eq(GRADED) & JUDGED["unit"].eq("F0")))
    rows = METRICS.validate(agreement_with_judge(judged_facts(failed, "s"), given, seed=1, provenance="p"))
    of = rows.set_index(["item", "metric"])[["n", "unscored"]].apply(tuple, axis=1)
    assert of["supports", "mean_absolute_difference"] == (2, 1) == of["refutes", "absolute_difference_std"]
    assert of["omission", "agreement"] == (3, 0) and ("supports, difference 1", "share_of_facts") in of.index
    none = agreement_with_judge(judged_facts(JUDGED.assign(weight=None), "s"), given, seed=1, provenance="p")
    assert none.loc[none["item"].eq("supports"), ["n", "unscored"]].to_numpy().tolist() == [[0, 3], [0, 3]]


def test_a_count_that_no_differential_has_is_refused() -> None:
    forged = _file("r", "yes").replace('"supports": 1', '"supports": ' + "9" * 400)
    with pytest.raises(SourceError, match=r"fact 7/F0, supports: Input should be less than or equal to 100"):
        FORM.validations({"a.json": forged})


def test_clinicians_with_copies_of_one_form_are_two_raters() -> None:
    files = {name: _file("clinician", "yes", signature=name) for name in ("dr_a.json", "dr_b.json")}
    assert list(FORM.validations(files)["rater"]) == ["clinician 1", "clinician 2"]
    third = {"dr_c.json": _file("clinician 1", "no", signature="dr_c")}
    with pytest.raises(SourceError, match="two raters are 'clinician 1'; change the code of one"):
        FORM.validations(files | third)
    with pytest.raises(SourceError, match=r"\.json: both of clinician, signed 'x'; keep one"):
        FORM.validations({name: _file("clinician", "yes", signature="X") for name in files})


def test_clinicians_check_the_omissions_of_each_system(tmp_path: Path) -> None:
    note = "The patient has had a dry cough for three weeks. She denies fever."
    outputs = {"copy": note, "short": "The family was present."}
    made = evaluate(
        [{"id": "d", "source": note, "outputs": outputs}], metrics=["med_omit"], judge="simulator"
    ).evaluation
    files = form_files(made, shipped(seed=7))
    assert sorted(files) == ["forms/omissions_1.html", "forms/omissions_2.html"]
    form = re.search(r'"form": ?"(\w+)"', files["forms/omissions_2.html"].decode())
    assert form is not None
    facts = judged_facts(made.tables["facts"], "short")
    answers = validated(facts["document"] + "/" + facts["fact"], ["no"] * len(facts))
    (tmp_path / "r1.json").write_text(file_of(FORM, "r1", form=form[1], facts=answers))
    rows, said = clinicians_agreement(made, [("short", tmp_path / "r1.json")], shipped(seed=7))
    value = METRICS.validate(rows).set_index(["condition", "metric", "item"])["value"]
    assert value["short", "agreement", "omission"] == 1  # the output omits every fact
    assert said == [f"short: returned forms answer {len(facts)} of {len(facts)} facts (tables/clinicians.csv)"]


def test_a_returned_form_of_an_unknown_system_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("flows.evaluation.api.run_evaluation", None)
    text = {"id": "a", "source": "The patient has a cough.", "outputs": {"copy": "A cough.", "short": "A cough."}}
    (tmp_path / "texts.jsonl").write_text(json.dumps(text))
    (tmp_path / "r1.json").write_text("{}")
    options = ["--returned", f"Shrt={tmp_path / 'r1.json'}", "--out", str(tmp_path / "out")]
    assert run(["evaluate", str(tmp_path / "texts.jsonl"), *options]) == 1
    assert "no such system; expected copy, short; did you mean short?" in capsys.readouterr().err
    options[1] = f"short={tmp_path / 'gone.json'}"
    assert run(["evaluate", str(tmp_path / "texts.jsonl"), *options]) == 1
    assert "gone.json: no such file" in capsys.readouterr().err


def test_labels_say_that_the_summary_contains_the_fact_and_partially_is_a_no() -> None:
    """Ten facts, four of them judged omitted; six are validated, of which clinicians find one more omitted."""
    judged = facts_judged(
        {"document": str(at // 2), "fact": f"F{at}", "category": "other", "omitted": {"s": at < 4}} for at in range(10)
    )
    form = OmissionForm(judged_facts(judged, "s").iloc[:6], 10, FormSample(), None)
    given = validated(form.shown["document"] + "/" + form.shown["fact"], ["no", "partially", "no", "no", "no", "yes"])
    labels = omission_labels(judged, "s", form.validations({"a.json": file_of(form, facts=given)}), "judge m")
    of_model, of_people = labels[labels["kind"] != PERSON], labels[labels["kind"] == PERSON]
    assert of_model["value"].tolist() == [0] * 4 + [1] * 6 and of_people["value"].tolist() == [0] * 5 + [1]
