"""The rating protocol: draw, order of notes, returned files, Table 4 and agreement."""

import json
import re

import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.errors import SourceError
from schemas.tables.metrics import METRICS, SCORES
from schemas.tables.people import ASPECTS, REVIEW_NOTES
from schemas.tables.verdicts import VERDICTS
from tasks.domains.rules import rules_of
from tasks.papers.printed import items
from tasks.papers.reproduction import PUBLISHED, compared
from tasks.people.rating_agreement import (
    evaluator_files,
    mean_rows,
    model_rows,
    published_ratings,
    read_evaluators,
    review_metrics,
    review_scores,
)
from tasks.people.rating_form import FOLLOWED, RatingForm, consistency_score, draw_notes, rater_order, ratings_of
from tests.support.cases import each
from tests.support.returned import file_of, rated
from tests.support.review import PRACTISED, REVIEW, RUBRIC, drawn, prompts
from tests.support.sources import needs_sources, sources_folder

FORM = RatingForm(drawn(), REVIEW.raters)


def _returned(rater: str = "rater_1", signature: str = "") -> dict:
    return json.loads(file_of(FORM, rater, signature=signature, notes=rated()))


def _read(*forms: dict):
    return FORM.verdicts({f"{i}.json": json.dumps(form) for i, form in enumerate(forms)})


def test_a_draw_has_both_types_and_their_parts_with_the_maxima_of_the_instructions():
    notes = check(drawn(), REVIEW_NOTES, "draw").set_index("record")
    assert list(notes["type"]) == ["type_1", "type_1", "type_2"]
    sizes = {r: {p["part"]: len(p["items"]) for p in json.loads(notes.loc[r, "parts"])} for r in notes.index}
    assert sizes[4] == {"1A": 2, "1B": 1, "1C": 7, "1D": 3}  # 1C: three of the network's, and four others
    assert sizes[12] == {"2A": 5, "2B": 4, "2C": 2}


def test_a_draw_larger_than_the_notes_has_all_of_them() -> None:
    texts = pd.DataFrame({"record": [4, 9], "note": "n", "compact": "c"})

    def draw(texts: pd.DataFrame) -> pd.DataFrame:
        tables = prompts(), texts[["record", "note"]], texts[["record", "compact"]]
        return check(draw_notes(*tables, PRACTISED, rules_of("respiratory"), seed=1), REVIEW_NOTES, "draw")

    assert draw(texts)["record"].tolist() == [4, 9]
    none = draw(texts.head(0))
    assert none.empty and "vignette-review" in RatingForm(none, REVIEW.raters).filled("rater_1", RUBRIC, seed=7)


def test_practice_notes_come_first_are_checked_and_are_not_counted():
    notes = drawn(review=PRACTISED)
    practice = int(notes.loc[notes["practice"], "record"].iloc[0])
    form = RatingForm(notes, PRACTISED.raters)
    items = re.findall(r'"practice": ?(true|false)', form.filled("rater_1", RUBRIC, seed=7))
    assert items == ["true", "false", "false"]
    file = json.loads(file_of(form, "rater_1", notes=rated(notes["record"])))
    found = form.verdicts({"a.json": json.dumps(file)})
    assert set(found["document"]) == set(notes["record"].astype(str)) - {str(practice)}
    without = file | {"notes": [note for note in file["notes"] if note["record"] != practice]}
    assert len(form.verdicts({"a.json": json.dumps(without)})) == len(found)
    wrong = file | {"notes": [note | {"ratings": {}} for note in file["notes"]]}
    with pytest.raises(SourceError, match=f"note {practice}: realism_history is missing"):
        form.verdicts({"a.json": json.dumps(wrong)})


def test_raters_see_the_notes_in_different_but_reproducible_orders():
    records = list(range(30))
    orders = [rater_order(records, rater, seed=7) for rater in ("rater_1", "rater_2", "rater_3")]
    assert all(sorted(order) == records for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    assert rater_order(records[::-1], "rater_2", seed=7) == orders[1]


def test_a_form_is_one_file_that_names_no_outside_address():
    html = FORM.filled("rater_1", RUBRIC, seed=7)
    assert not re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?(?:https?:)?//", html)
    assert 'content="default-src &#39;none&#39;; script-src &#39;sha256-' in html
    assert FORM.filled("rater_1", RUBRIC, seed=7) == html


@each("penalties, score", [(0, 5), (1, 4), (2, 3), (3, 2), (4, 1), (9, 1)])
def test_penalties_become_the_published_scores(penalties, score):
    assert consistency_score(penalties) == score


def test_a_good_file_gives_ratings_and_penalties():
    form = _returned()
    form["notes"][0]["penalties"] = {"1A": ["cough", "fever"], "1D": ["diagnosis"]}
    found = check(_read(form), VERDICTS, "ratings")
    denied = found[(found["metric"] == FOLLOWED) & (found["value"] == 0)]
    assert denied["unit"].tolist() == ["1A/cough", "1A/fever", "1D/diagnosis"]
    ratings = ratings_of(found)
    assert len(ratings) == 3 * len(ASPECTS)
    assert ratings.set_index(["record", "aspect"]).loc[(4, "consistency"), "rating"] == 2


@each(
    "damage, message",
    [
        (lambda f: f["notes"][0].update(record=77), "unknown note 77"),
        (lambda f: f["notes"].pop(), "note 12 is missing"),
        (lambda f: f["notes"].append(f["notes"][0]), "note 4 is in the file twice"),
        (lambda f: f["notes"][1]["ratings"].pop("clinical_accuracy"), "note 9: clinical_accuracy is missing"),
        (lambda f: f["notes"][1]["ratings"].update(compact_content=6), "note 9: compact_content is 6, expected 1 to 5"),
        (lambda f: f["notes"][1]["ratings"].update(compact_content=True), "note 9: compact_content is True"),
        (lambda f: f["notes"][1]["ratings"].update(style=3), "note 9: unknown rating 'style'"),
        (lambda f: f["notes"][2].update(penalties={"1A": ["cough"]}), "note 12: penalty for 'cough' in part 1A"),
        (lambda f: f.update(rater="rater_9"), "unknown rater 'rater_9'"),
        (lambda f: f.update(form="0" * 12), "is of form vignette-review 000000000000"),
        (lambda f: f.update(complete=False), "unfinished"),
        (lambda f: f.pop("notes"), "not a file of the review form (notes"),
    ],
)
def test_a_damaged_file_is_refused_by_name(damage, message):
    form = _returned()
    damage(form)
    with pytest.raises(SourceError, match=re.escape("0.json: ")) as error:
        _read(form)
    assert message in str(error.value)


def test_two_files_of_one_rater_or_of_one_name_are_refused():
    with pytest.raises(SourceError, match="also of rater 'rater_1'"):
        _read(_returned(signature="A"), _returned(signature="B"))
    with pytest.raises(SourceError, match="two raters cannot have one name"):
        _read(_returned(signature="Dr. A"), _returned("rater_2", signature="dr. a "))


def _ratings(by_rater: dict[str, list[int]], kind: str = "person") -> pd.DataFrame:
    rows = [(r, kind, i, "consistency", v) for r, values in by_rater.items() for i, v in enumerate(values)]
    return pd.DataFrame(rows, columns=["rater", "rater_kind", "record", "aspect", "rating"])


def test_table_4_takes_means_over_notes_and_the_population_deviation_over_raters():
    mean, deviation = mean_rows(_ratings({"a": [5, 4], "b": [3, 3]}), "people")
    assert (mean["value"], deviation["value"]) == (3.75, 0.75)  # means 4.5 and 3; their population deviation


def test_a_models_agreement_is_compared_with_that_among_people():
    people = _ratings({"a": [5, 4, 2, 1], "b": [5, 3, 2, 1]})
    both = pd.concat([people, _ratings({"m": [5, 4, 2, 1]}, "model")])
    found = {(row["item"], row["metric"]): row["value"] for row in model_rows(both)}
    assert found["consistency", "mean_difference"] == pytest.approx(0.125)
    assert found["consistency", "spearman_with_people"] == pytest.approx(1.0)
    assert found["consistency", "kappa_linear_with_people"] > found["consistency", "kappa_linear_among_people"]


def test_the_metric_table_counts_penalties_by_part_and_needs_no_people():
    form = _returned()
    form["notes"][0]["penalties"] = {"1A": ["cough"], "1D": ["diagnosis", "sex_or_age"]}
    verdicts = _read(form)
    table = review_metrics(verdicts, seed=7, unscored=0, provenance="p")
    check(table, METRICS, "metrics")
    check(review_scores(ratings_of(verdicts)), SCORES, "scores")
    counted = table[table["metric"] == "penalties"].set_index("item")["value"]
    assert (counted["part 1A"], counted["part 1D"], counted["all parts"]) == (1, 2, 3)
    assert set(review_metrics(verdicts.assign(kind="model"), seed=7, unscored=0, provenance="p")["system"]) == {"model"}


@needs_sources
def test_table_4_the_six_alphas_and_the_46_penalties_come_out_to_the_printed_digit():
    ratings = check(published_ratings(read_evaluators(evaluator_files(sources_folder())), seed=7), METRICS, "metrics")
    names, tables = ("Table 4", "Appendix E.2.2", "Appendix E.2.1"), {"published/expert_ratings": ratings}
    rows = [row for name in names for row in compared(items()["simsum", name], tables, PUBLISHED)]
    assert len(rows) == 6 * 3 + 1
    assert {(row["column"] == "penalties", row["tolerance"]) for row in rows} == {(True, 0.0), (False, 0.005)}
    for row in rows:
        assert round(row["reproduced"], 0 if row["column"] == "penalties" else 2) == row["published"], row


def test_without_the_files_there_are_no_rows():
    assert published_ratings(None, seed=7).empty
    assert evaluator_files(None) == []


def test_evaluators_files_that_do_not_fit_are_refused(tmp_path):
    (tmp_path / "e.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match="columns"):
        read_evaluators([tmp_path / "e.csv"])
