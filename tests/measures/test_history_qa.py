"""Questions about time: their answers are those of a second reading of the table of visits, and the rules find them."""

import json
import re
from datetime import date
from functools import cache

import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.params.history import HistoryQa
from schemas.tables.note_qa import LETTERS, PATIENT_NOTES
from schemas.tables.visits import HISTORY_QUESTIONS, PLACES
from tasks.domains.rules import history_words, rules_of
from tasks.measures.note_qa.time_questions import (
    history_questions,
    notes_of_visits,
    patient_name,
    places_of,
)
from tasks.measures.note_qa.truth_questions import UNKNOWN
from tasks.network.time import sample_histories
from tasks.network.visits import first_date
from tasks.simulator.reader.timeline import over_time
from tasks.simulator.request import ChartedNote
from tests.support.histories import worder_of
from tests.support.unrolled import timed_network

SEED = 5
DOMAINS = ("respiratory", "urinary")
PARAMS = HistoryQa(questions=8, long_questions=30)
KINDS = {"first", "last", "often", "long", "since", "changed", "order"}


@cache
def visits_of(domain: str, patients: int = 30) -> pd.DataFrame:
    network, transitions = timed_network(domain)
    sizes = [1 + i % 8 for i in range(patients)] + [24, 48]
    return sample_histories(network, transitions, len(sizes), sizes, SEED)


@cache
def questions_of(domain: str) -> pd.DataFrame:
    visits = visits_of(domain)
    notes, _ = notes_of_visits(visits, visits[["record"]].assign(text="word " * 290))
    return history_questions(visits, notes, worder_of(domain), PARAMS, seed=SEED)[0]


def second_reading(wording: str, own: pd.DataFrame, columns: dict[str, str], treatments: dict[str, str]) -> str | None:
    """The right choice from one patient's dated rows of the raw table, or None where the table does not tell."""
    days = [pd.Timestamp(day) for day in re.findall(r"\d{4}-\d\d-\d\d", wording)]
    labels = sorted((label for label in columns if label in wording), key=wording.index)
    labels = [one for one in labels if not any(one != other and one in other for other in labels)]

    def has(rows: pd.DataFrame, label: str) -> pd.Series:
        return ~rows[columns[label]].isin(["no", "none"])

    from_on, up_to = own[own["date"] >= days[0]], own[own["date"] <= days[0]]
    if "first have" in wording and "how many" not in wording:
        found = from_on.loc[has(from_on, labels[0]), "date"].min()
        return None if pd.isna(found) else f"At the visit of {found.date()}"
    if "last have" in wording:
        found = up_to.loc[has(up_to, labels[0]), "date"].max()
        return None if pd.isna(found) else f"At the visit of {found.date()}"
    if "how many visits" in wording:
        among = own[own["date"].between(*days)]
        count = int(has(among, labels[0]).sum())
        return None if among.empty else f"At {count} visit" + "s" * (count > 1)
    if "how many days" in wording:
        begun = from_on.loc[has(from_on, labels[0]), "date"].min()
        without = from_on.loc[~has(from_on, labels[0]) & (from_on["date"] > begun), "date"].min()
        return None if pd.isna(without) else f"{(without - begun).days} days"
    if "it first so that" in wording:
        given = from_on[next(name for phrase, name in treatments.items() if phrase in wording)] == "yes"
        gone_next = has(from_on, labels[0]).shift(-1, fill_value=True).eq(False)
        found = from_on.loc[has(from_on, labels[0]) & given & gone_next, "date"].min()
        return None if pd.isna(found) else f"At the visit of {found.date()}"
    if "but not at the other" in wording:
        pair = own[own["date"].isin(days)]
        differ = [label for label in labels if len(pair) == 2 and has(pair, label).nunique() == 2]
        return differ[0][0].upper() + differ[0][1:] if differ else None
    firsts = pd.Series({label: from_on.loc[has(from_on, label), "date"].min() for label in labels}).dropna()
    if firsts.empty:
        return None
    earliest = firsts[firsts == firsts.min()].index
    return earliest[0][0].upper() + earliest[0][1:] if len(earliest) == 1 else "Two or more of them at the same visit"


@pytest.mark.parametrize("domain", DOMAINS)
def test_answers_are_those_of_a_second_reading_of_the_table(domain: str) -> None:
    visits, questions, rules = visits_of(domain), questions_of(domain), rules_of(domain)
    columns = {rules.labels[name]: name for name in rules.symptoms}
    treatments = {phrases["yes"]: name for name, phrases in history_words(domain).treatments.items()}
    dates = [pd.Timestamp(first_date(p)) + pd.Timedelta(days=d) for p, d in visits[["patient", "day"]].values]
    own = {patient_name(patient): rows for patient, rows in visits.assign(date=dates).groupby("patient")}
    for row in questions.itertuples():
        choices = json.loads(row.choices)
        expected = second_reading(row.wording, own[row.patient], columns, treatments)
        assert (expected is not None) == row.answerable, row.wording
        assert choices[LETTERS.index(row.answer)] == (expected or UNKNOWN), row.wording
        assert len(set(choices)) == 5 and UNKNOWN in choices
    assert set(questions["kind"]) == KINDS
    assert len(questions) > 150
    assert set(questions.loc[~questions["answerable"], "kind"]) == KINDS


def is_possible(choice: str, wording: str) -> bool:
    """Whether a choice may be right as far as the wording of its question goes."""
    days = [date.fromisoformat(day) for day in re.findall(r"\d{4}-\d\d-\d\d", wording)]
    if choice == UNKNOWN or choice.startswith("Two or more"):
        return choice == UNKNOWN or "which did the patient have first" in wording
    if at := re.fullmatch(r"At the visit of (\S+)", choice):
        day = date.fromisoformat(at[1])
        return day <= days[0] if wording.startswith("Up to") else day >= days[0]
    if often := re.fullmatch(r"At (\d+) visits?", choice):
        return 1 <= int(often[1]) <= (days[1] - days[0]).days + 1
    if lasting := re.fullmatch(r"(\d+) days", choice):
        return int(lasting[1]) >= 1
    return choice.lower() in wording.lower()


@pytest.mark.parametrize("domain", DOMAINS)
def test_no_choice_is_ruled_out_by_the_wording_of_its_question(domain: str) -> None:
    asked = [(row.wording, choice) for row in questions_of(domain).itertuples() for choice in json.loads(row.choices)]
    assert len(asked) > 750
    assert [(wording, choice) for wording, choice in asked if not is_possible(choice, wording)] == []


@pytest.mark.parametrize("domain", DOMAINS)
def test_questions_have_a_place_and_the_stated_share_is_unanswerable(domain: str) -> None:
    questions = questions_of(domain)
    check(questions, HISTORY_QUESTIONS, "a test")
    assert 0.12 < (~questions["answerable"]).mean() < 0.28
    assert ((questions["place"] == "nowhere") == ~questions["answerable"]).all()
    long = questions[questions["level"] > 1]
    assert set(long["level"]) == {2, 3}
    assert long["place"].value_counts()[["beginning", "middle", "end"]].min() > 0.15 * len(long)


def test_evidence_is_in_the_stated_third_of_the_notes() -> None:
    questions = questions_of("respiratory")
    for row in questions[questions["answerable"]].itertuples():
        thirds = {min(2, int(3 * (visit - 0.5) / row.notes)) for visit in json.loads(row.visits)}
        assert row.place == (PLACES[thirds.pop()] if len(thirds) == 1 else "throughout")


def test_places_are_thirds_of_the_tokens() -> None:
    assert places_of([10, 10, 10]) == ["beginning", "middle", "end"]
    assert places_of([100, 10, 10]) == ["middle", "end", "end"]


def test_a_patient_who_lacks_a_note_is_left_out_and_named() -> None:
    visits = visits_of("respiratory")
    texts = pd.DataFrame({"record": visits["record"], "text": "a note"})
    notes, unscored = notes_of_visits(visits, texts[texts["record"] != 102])
    assert unscored["record"].tolist() == ["h0001"]
    assert set(notes["patient"]) == set(map(patient_name, visits["patient"])) - {"h0001"}
    check(notes, PATIENT_NOTES, "a test")


def charted(day: str, number: int, findings: str, plan: str, course: str = "") -> ChartedNote:
    course = f"**Course**\n{course}\n" if course else ""
    text = f"Visit {number}, {day} (day 0)\n**History**\n{findings}\n{course}**Plan**\n{plan}"
    return ChartedNote(day, text)


NOTES = [
    charted("2012-03-01", 1, "The patient has a cough.", "Antibiotics were prescribed."),
    charted("2012-03-11", 2, "There is a fever. No cough.", "No antibiotics were prescribed.", "On 2012-03-01 cough."),
    charted("2012-04-01", 3, "The patient has a cough.", "No antibiotics were prescribed."),
]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("From 2012-03-11 on, at which visit did the patient first have cough?", "At the visit of 2012-04-01."),
        ("Up to 2012-03-20, at which visit did the patient last have cough?", "At the visit of 2012-03-01."),
        ("From 2012-03-01 to 2012-04-01, at how many visits did the patient have cough?", "At 2 visits."),
        ("From 2013-03-01 to 2013-04-01, at how many visits did the patient have cough?", "The notes do not tell."),
        (
            "From 2012-03-01 on, how many days lay between the first visit with cough and the next visit without it?",
            "10 days.",
        ),
        (
            "From 2012-03-01 on, at which visit with cough was it first so that antibiotics were prescribed and the "
            "next visit was without cough?",
            "At the visit of 2012-03-01.",
        ),
        ("From 2012-03-05 on, which did the patient have first: cough, fever or dyspnea?", "Fever."),
        ("Does the patient have a cough?", None),
    ],
)
def test_the_rules_answer_about_time_from_todays_findings(question: str, expected: str | None) -> None:
    found = over_time(question, NOTES)
    assert (None if found is None else found.sentence) == expected


def test_notes_that_are_not_of_dated_visits_are_answered_as_before() -> None:
    notes = [ChartedNote("2012-03-01", "**History**\nThe patient has a cough.")]
    assert over_time("Up to 2012-03-20, at which visit did the patient last have cough?", notes) is None
