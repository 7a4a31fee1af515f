"""Scripted changes make a claim untrue and leave a sentence; what the note supports elsewhere is not changed."""

import re

import numpy as np
import pytest

from tasks.domains.rules import rules_of
from tasks.judges.changes import OUTSIDE, change
from tasks.judges.subtle import change_detail, graded_pairs, subtle_claims

SYMPTOMS = rules_of("respiratory").symptom_labels


@pytest.mark.parametrize(
    ("kind", "claim", "changed"),
    [
        ("negation", "The patient denies fever.", "The patient reports fever."),
        ("negation", "There is no effusion.", "There is effusion."),
        ("negation", "The patient has a cough.", "The patient does not have a cough."),
        ("negation", "No swelling is seen.", "Swelling is seen."),
        ("negation", "The patient has called in sick.", "The patient has not called in sick."),
        ("negation", "There is a rash.", "There is no rash."),
        ("negation", "The area is nontender.", None),  # not "is not nontender"
        ("negation", "Symptoms have likely improved.", None),
        ("negation", "There are no signs of infection.", "There are signs of infection."),
        ("negation", "no cough today.", "cough today."),
        ("negation", "Pain was not used, with little relief.", "Pain was used, with little relief."),
        ("negation", "Ice was used, with little relief.", None),
        ("negation", "No wheezes, no crackles.", "There are wheezes, no crackles."),
        ("side", "Pain in the left knee.", "Pain in the right knee."),
        ("side", "Pain in the knee.", None),
        ("side", "The left knee hurts more than the right.", None),
        ("side", "She left work early.", None),
        ("side", "The left lung shows more than the left knee.", "The right lung shows more than the left knee."),
        ("number", "No fever.", None),
        ("number", "Power 4/5 in both arms.", None),
        ("number", "Blood pressure is 134/72 mmHg.", None),
        ("drug", "No fever.", None),
        ("body part", "Throat lozenges give little relief.", None),
        ("body part", "Pain in the knee joint.", None),  # other parts have no such joint
        ("body part", "The knee was painted red.", None),
    ],
)
def test_one_change_is_made_and_none_that_reads_badly(kind: str, claim: str, changed: str | None) -> None:
    assert change(claim, kind, np.random.default_rng(1)) == changed


@pytest.mark.parametrize(
    ("claim", "numbers"),
    [
        ("Takes 5 mg daily.", "10"),  # twice or half, and half only of an even dose
        ("Takes 10 mg daily.", "5 20"),
        ("Respiratory rate is 16.", "12 20 22 24 26 28"),  # at least 4 away
        ("Temperature is 37.2 degrees.", "36.6 38.1 38.9 39.6"),  # at least 0.6 away
        ("Temperature is 35.0 degrees.", "36.6 37.2 38.1 38.9 39.6"),
        ("Temperature is 34.9 degrees.", ""),
        ("Temperature is 41.5 degrees.", "36.6 37.2 38.1 38.9 39.6"),
        ("Temperature is 41.6 degrees.", ""),
        ("Temperature is 98.6°F.", "99.2 100.8 102.1 103.4"),
        ("Temperature is 95.0°F.", "98.1 99.2 100.8 102.1 103.4"),
        ("Temperature is 106.0°F.", "98.1 99.2 100.8 102.1 103.4"),
        ("Temperature is 106.1°F.", ""),
        ("Saturation is 95%.", "88 89 90 91 99"),
        ("Saturation is 85%.", "89 90 91 92 93 94 95 96 97 98 99"),
        ("Saturation is 100%.", "88 89 90 91 92 93 94 95 96"),
        ("Saturation is 84%.", ""),
        ("Cough for 1 day.", ""),  # "day" would have to become "days"
        ("Cough for 2 days.", "4 5 6 7 8"),
        ("Cough for 20 hours.", "2 3 4 5 6 7 8 9 10 11 12 13"),  # no 24 hours, which are a day
        ("Cough for 11 weeks.", "2 3 4 5 6 7"),
        ("Cough for 10 months.", "2 3 4 5 6"),
        ("Smoked for 20 years.", " ".join(map(str, [*range(2, 14), *range(27, 41)]))),
        ("Walks 21 meters.", "15 27"),  # 30% less or more
        ("Walks 200 meters.", "140 260"),
        ("Walks 201 meters.", ""),
    ],
)
def test_another_number_differs_clearly_and_is_possible(claim: str, numbers: str) -> None:
    random = np.random.default_rng(1)
    made = {change(claim, "number", random) for _ in range(250)} - {None}
    found = {re.findall(r"\d+(?:\.\d+)?", str(one))[0] for one in made}
    assert sorted(found, key=float) == numbers.split()


@pytest.mark.parametrize(
    ("kind", "claim"),
    [("number", "Cough for 3 weeks."), ("body part", "Pain in the knee."), ("drug", "Takes ibuprofen.")],
)
def test_swaps_always_differ(kind: str, claim: str) -> None:
    made = {change(claim, kind, np.random.default_rng(seed)) for seed in range(30)}
    assert claim not in made
    assert None not in made
    assert len(made) > 1


def test_terms_are_exchanged_within_their_group_and_agree_in_number() -> None:
    feet = {change("Pain in both feet.", "body part", np.random.default_rng(seed)) for seed in range(20)}
    assert feet <= {
        f"Pain in both {part}." for part in ("shoulders", "elbows", "wrists", "hips", "knees", "ankles", "thumbs")
    }
    classes = {change("Takes apixaban.", "drug" + OUTSIDE, np.random.default_rng(seed)) for seed in range(20)}
    assert classes <= {"Takes dabigatran.", "Takes edoxaban.", "Takes rivaroxaban."}
    assert change("Takes Tylenol.", "drug", np.random.default_rng(1)) != "Takes acetaminophen."


def graded(sentence: str, note: str) -> dict[str, str]:
    """The changed claim by kind, or the premise where that is changed."""
    pairs = graded_pairs(note, sentence, SYMPTOMS)
    return {kind: claim if premise == note else premise for kind, premise, claim in pairs}


@pytest.mark.parametrize(
    ("sentence", "made"),
    [
        ("Cough for 3 weeks.", {"other unit": "Cough for 3 months."}),
        ("Cough for 12 weeks.", {"other unit": "Cough for 12 months."}),
        ("Cough for 13 weeks.", {}),  # much the same as 3 months
        ("Cough for 13 days.", {"other unit": "Cough for 13 weeks."}),
        ("Pain after meals.", {"other order": "Pain before meals."}),
        ("Pain before and after meals.", {}),
        ("There is a rash.", {"hedged in the note": "There may be a rash."}),
        ("She reports pain in her knee.", {"hedged in the note": "It is possible that she reports pain in her knee."}),
        (
            "She reports fever, chills and fatigue.",
            {
                "another person": "The patient's sister reports fever, chills and fatigue.",
                "in the past": "Five years ago, the patient reported fever, chills and fatigue.",
                "hedged in the note": "It is possible that she reports fever, chills and fatigue.",
                "partly supported": "She reports fever and chills.",
            },
        ),
        (
            "She reports fever and gas.",  # words of three letters are too often part of others
            {
                "another person": "The patient's sister reports fever and gas.",
                "in the past": "Five years ago, the patient reported fever and gas.",
                "hedged in the note": "It is possible that she reports fever and gas.",
            },
        ),
        (
            "She denies a cough.",  # "denied a cough" long ago would say little
            {"another person": "The patient's brother denies a cough."},
        ),
        (
            "He has a severe ongoing cough.",
            {
                "another person": "The patient's sister has a severe ongoing cough.",
                "in the past": "Five years ago, the patient had a severe ongoing cough.",
                "other degree": "He has a mild ongoing cough.",
                "hedged in the note": "He probably has a severe ongoing cough.",
                "qualifier taken out": "He has an ongoing cough.",
            },
        ),
        ("mild pain since Monday.", {"other degree": "severe pain since Monday.",
                                     "qualifier taken out": "Pain since Monday."}),
        ("She has rash.", {"another person": "The patient's father has rash.",
                           "in the past": "Five years ago, the patient had rash.",
                           "hedged in the note": "She probably has rash."}),
        ("He denies severe pain.", {"another person": "The patient's sister denies severe pain."}),
    ],
)  # fmt: skip
def test_all_graded_changes_of_a_sentence(sentence: str, made: dict[str, str]) -> None:
    assert graded(sentence, sentence) == made


@pytest.mark.parametrize(
    ("kind", "note", "sentence"),
    [
        ("other degree", "There is mild pain. Yesterday there was severe pain.", "There is mild pain."),
        ("other degree", "No severe pain.", "No severe pain."),
        ("partly supported", "She reports fever and chills. Chills began on Monday.", "She reports fever and chills."),
        ("partly supported", "She reports fever and rash. Rash on the trunk.", "She reports fever and rash."),
        ("partly supported", "She reports pain on and off.", "She reports pain on and off."),
        ("qualifier taken out", "There is mild to severe pain.", "There is mild to severe pain."),
        ("other order", "No cough before or since the fall.", "No cough before or since the fall."),
    ],
)
def test_a_change_that_the_note_supports_elsewhere_is_not_planted(kind: str, note: str, sentence: str) -> None:
    assert kind not in graded(sentence, note)


def test_a_last_item_of_four_letters_is_taken_off_its_list() -> None:
    sentence = "She reports fever and rash."
    assert graded(sentence, sentence)["partly supported"] == "She reports fever."


ASTHMA, RASH = "There is a history of asthma.", "Her rash has lasted for 2 weeks."
TWELVE = "She reports one two three four five six seven eight nine ten eleven twelve"


@pytest.mark.parametrize(
    ("sentence", "elsewhere", "made"),
    [
        ("No cough, mainly at night.", "", {}),
        ("He coughs, mainly at night.", "", {"quantifier changed": "He coughs, only at night."}),
        ("She denies any recent travel.", "", {"denial made wider": "She denies any travel."}),
        ("She denies any recent travel.", "There was no travel.", {}),
        ("He denies fever or fatigue.", "", {"usual detail added": "He denies fever, palpitations, or fatigue."}),
        ("He denies fever or fatigue.",
         "No headache, weight loss, sweats, palpitations, vomiting, dizziness or aches.", {}),
        ("The patient has had a rash for 3 days.", "",
         {"course added": "The patient has had a rash for 3 days, getting gradually worse."}),
        ("The patient has had a rash for 3 days.", "It is getting worse.", {}),
        ("There is a history of smoking.", "", {"past given as present": "The patient currently smokes."}),
        ("There is a history of smoking.", "He quit in 2020.", {}),
        ("There is no history of a severe travel sickness.", "",
         {"denial made wider": "There is no history of travel sickness."}),
        ("Lungs are clear bilaterally.", "",
         {"usual detail added": "Lungs are clear bilaterally, with good air entry."}),
        ("Lungs are clear.", "Breath sounds are vesicular.", {}),
        ("He denies fever, chills, or fatigue.", "",
         {"usual detail added": "He denies fever, weight loss, chills, or fatigue."}),
        ("He denies pain but has fever.", "", {}),
        ("The throat is red.", "", {"usual detail added": "The throat is red, with enlarged tonsils."}),
        ("There is a cough at night.", "", {}),
        ("The patient has had no rash for 3 days.", "", {}),
        ("The patient has had a rash.", "", {}),
        ("The weather was hot for 3 days.", "", {}),
        ("There is no history of smoking.", "", {}),
        ("The patient has pain.", ASTHMA, {"cause invented": "The patient has pain, caused by the asthma."}),
        ("The patient has pain.", f"{ASTHMA} It is related to dust.", {}),
        ("The patient has no pain.", ASTHMA, {}),
        ("The patient has pain with asthma.", ASTHMA, {}),
        ("It is hot.", ASTHMA, {}),
        ("She reports nausea.", RASH, {"time of another finding": "She reports nausea for 2 weeks."}),
        ("She reports nausea.", "No rash for 2 weeks.", {}),
        ("She reports nausea today.", RASH, {}),
        ("She reports no nausea.", RASH, {}),
        ("She reports nausea, as usual.", RASH, {}),
        ("She reports throbbing.", "Her throb has lasted for 2 weeks.", {}),  # of the same finding
        (f"{TWELVE}.", RASH, {"time of another finding": f"{TWELVE} for 2 weeks."}),
        (f"{TWELVE} thirteen.", RASH, {}),  # long sentences seldom stay sentences
    ],
)  # fmt: skip
def test_all_subtle_changes_of_a_sentence(sentence: str, elsewhere: str, made: dict[str, str]) -> None:
    assert dict(subtle_claims(f"{sentence} {elsewhere}".strip(), sentence)) == made


def test_a_detail_of_a_long_claim_is_changed_in_one_of_all_possible_ways() -> None:
    random, sentence = np.random.default_rng(1), "Cough for 3 weeks in the left knee."
    made = {change_detail(sentence, sentence, random) for _ in range(100)}
    others = {f"Cough for {n} weeks in the left knee." for n in range(5, 11)}
    assert made == others | {"Cough for 3 months in the left knee.", "Cough for 3 weeks in the right knee."}
    assert change_detail("Nothing.", "Nothing.", random) is None


def test_a_cause_and_a_time_are_those_of_other_sentences() -> None:
    note = "The patient reports fever. There is a history of asthma. Swallowing has been painful for 3 days."
    found = dict(subtle_claims(note, "The patient reports fever."))
    assert found["cause invented"] == "The patient reports fever, caused by the asthma."
    assert found["time of another finding"] == "The patient reports fever for 3 days."
