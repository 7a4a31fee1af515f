"""Results on hand-made ratings, answers and texts are those of earlier versions: committed tables depend on them."""

import numpy as np
import pandas as pd

from schemas.params.overlap import Overlap
from tasks.evaluation.annotator.quality import SymptomSpan
from tasks.evaluation.annotator.scripted_edits import edited_notes
from tasks.evaluation.calibration.planted import plant_citations, plant_claims, plant_omissions
from tasks.evaluation.expert_review.metrics import review_metrics
from tasks.evaluation.expert_review.rater_agreement import model_against_people
from tasks.evaluation.med_omit.validation_agreement import agreement_between, agreement_with_judge
from tasks.evaluation.med_omit.validation_form import read_validations
from tasks.evaluation.overlap.tables import overlap_rows, score_compact_notes, score_systems, system_rows
from tasks.evaluation.simulator_quality.quality import repeated_separability, separability
from tests.evaluation import test_calibration, test_omission_form, test_overlap, test_review
from tests.support.recorded import assert_as_recorded

NUMBERS = ["system", "condition", "item", "metric", "value", "low", "high", "n", "unscored"]
NOTE = (
    "**History**\nThe patient reports a cough and denies fever. Sleeps badly.\n\n"
    "**Physical Examination**\nTemperature 36.8°C. Lungs clear."
)


def test_ratings_and_their_agreement() -> None:
    people = test_review._ratings({"a": [5, 4, 2, 1], "b": [5, 3, 2, 1], "c": [4, 4, 1, 2]})
    rated = pd.concat([people, test_review._ratings({"m": [5, 4, 2, 2]}, "model")])
    agreement = model_against_people(rated, seed=7).query("aspect == 'consistency'")
    assert_as_recorded("rater_agreement", agreement)
    form = test_review._returned()
    form["notes"][0]["penalties"] = {"1A": ["cough"], "1D": ["diagnosis", "sex_or_age"]}
    form["notes"][1]["ratings"]["realism_history"] = 2
    ratings, penalties, _ = test_review._read(form)
    table = review_metrics(ratings, penalties, seed=7, unscored=1, provenance="p")
    assert_as_recorded("review", table[NUMBERS])


def test_answers_of_clinicians_on_omissions() -> None:
    files = {
        "a.json": test_omission_form._file("a", "yes", "partially", "no"),
        "b.json": test_omission_form._file("b", "yes", "no", "no", category="other"),
    }
    shown = test_omission_form._shown()
    given = read_validations(files, shown)
    rows = [
        agreement_with_judge(shown, given, seed=7, provenance="p"),
        agreement_between(given, seed=7, provenance="p"),
    ]
    assert_as_recorded("omission_agreement", pd.concat(rows)[NUMBERS])


def test_overlap_of_texts() -> None:
    scored, absent = score_systems(test_overlap.TEXTS, test_overlap.REFERENCES, Overlap())
    systems = system_rows(scored, absent, stage="s", seed=7)
    notes = pd.DataFrame({"record": [1, 2, 3], "note": ["dry cough at night", "no fever or chills", "well"]})
    compact = pd.DataFrame({"record": [1, 2, 3], "compact": ["dry cough noct", "no fever", "well"]})
    own = overlap_rows(*score_compact_notes(notes, compact, {"1", "2", "3"}, Overlap()), seed=7)
    assert_as_recorded("overlap", pd.concat([systems, own])[NUMBERS])


def test_separability_of_notes() -> None:
    draw = np.random.default_rng(2)
    real, written = draw.normal(size=(40, 4)), draw.normal(0.3, 1, size=(60, 4))
    found = [separability(real, written[:40], seed=7), *repeated_separability(real, written, draws=3, seed=7)]
    assert_as_recorded("separability", pd.DataFrame({"auc": found}))


def test_edits_of_notes_with_their_instructions() -> None:
    notes = {number: NOTE.replace("cough", word) for number, word in enumerate(("cough", "dry cough", "hoarse cough"))}
    spans = {
        number: [
            SymptomSpan("cough", note.index("reports"), note.index(" and denies")),
            SymptomSpan("fever", note.index("denies"), note.index("fever") + 5),
        ]
        for number, note in notes.items()
    }
    edits = edited_notes(notes, spans, lambda **lists: str(lists), seed=7)
    assert_as_recorded("scripted_edits", pd.DataFrame([vars(one) for one in edits]))


def test_planted_cases_of_two_notes() -> None:
    notes = {
        name: f"{note} The cough is worse in the morning. Pain lasts for 2 hours before meals."
        for name, note in test_calibration.NOTES.items()
    }
    claims = pd.DataFrame([vars(case) for case in plant_claims(notes, seed=7)])
    claims["premise"] = [premise.replace(notes[at], "=") for premise, at in claims[["premise", "document"]].values]
    assert_as_recorded("planted_claims", claims[["document", "kind", "claim", "truth", "premise"]])
    omissions = [
        (case.document, sorted(case.removed), case.summary) for case in plant_omissions(notes, removed=2, seed=7)
    ]
    citations = [(case.document, case.kind, case.statement, case.citations) for case in plant_citations(notes, seed=7)]
    assert_as_recorded("planted_omissions", pd.DataFrame(omissions))
    assert_as_recorded("planted_citations", pd.DataFrame(citations))
