"""Notes are split at span boundaries: every character once, each segment with its symptoms."""

import pandas as pd

from schemas.tables.verdicts import verdict_table
from tasks.measures.doclens.published import RULES_JUDGE
from tasks.reporting.notes_view import FLAGGED, choose_records, claims_view, history_view, notes_view, segments


def spans(*rows: tuple[int, int, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["start", "end", "symptom"]).assign(assertion=None)


def test_segments_join_to_the_note() -> None:
    note = "<b>Cough</b> & fever — no pain\u2028."
    cut = segments(note, spans((3, 8, "cough"), (15, 20, "fever"), (3, 20, "pain")))
    assert "".join(text for text, _ in cut) == note
    assert [(text, symptoms) for text, symptoms in cut if symptoms] == [
        ("Cough", [("cough", ""), ("pain", "")]),
        ("</b> & ", [("pain", "")]),
        ("fever", [("fever", ""), ("pain", "")]),
    ]


def test_chosen_records_hold_every_kind_in_its_share() -> None:
    prompts = pd.DataFrame({"record": range(100), "kind": ["symptoms"] * 60 + ["unrelated"] * 30 + ["conditions"] * 10})
    chosen = choose_records(prompts, 10)
    kinds = prompts.set_index("record")["kind"].loc[chosen].value_counts().to_dict()
    assert kinds == {"symptoms": 6, "unrelated": 3, "conditions": 1}
    assert choose_records(prompts.head(3), 10) == [0, 1, 2]
    assert choose_records(prompts, 0) == []


def test_a_shown_note_has_both_versions_its_spans_and_the_attempts_before_it() -> None:
    records = pd.DataFrame({"record": [3, 5], "cough": ["yes", "no"]})
    prompts = pd.DataFrame({"record": [3, 5], "kind": "symptoms", "single_prompt": ["p3", "p5"], "descriptors": "{}"})
    notes = pd.DataFrame({"record": [3], "attempt": [2], "note": ["Dry cough."], "consistent": False})
    compact = pd.DataFrame({"record": [3], "compact": ["Cough."]})
    marks = [(3, "normal", 4, 9, "cough"), (3, "compact", 0, 5, "cough"), (5, "normal", 0, 1, "pain")]
    marked = pd.DataFrame(marks, columns=["record", "version", "start", "end", "symptom"]).assign(assertion=None)
    tried = [(3, 1, "second", None), (3, 0, "first", "no cough"), (3, 2, "Dry cough.", None), (5, 0, "x", None)]
    attempts = pd.DataFrame(tried, columns=["record", "attempt", "note", "explanation"])
    (view,) = notes_view(records, prompts, attempts, notes, compact, marked, 2)  # record 5 has no note
    assert (view["record"], view["kind"], view["prompt"], view["facts"]) == (3, "symptoms", "p3", {"cough": "yes"})
    assert view["mark"] == FLAGGED
    assert view["normal"] == [("Dry ", []), ("cough", [("cough", "")]), (".", [])]
    assert view["compact"] == [("Cough", [("cough", "")]), (".", [])]
    assert view["attempts"] == [
        {"note": "first", "explanation": "no cough"},
        {"note": "second", "explanation": ""},
    ]
    (without,) = notes_view(records, prompts, attempts, notes, compact.head(0), marked, 2)
    assert without["compact"] == []


def test_claims_of_outside_documents_have_their_verdict_reason_and_that_of_the_rules() -> None:
    about = {"document": "d", "system": "s", "condition": "c", "item": "plan", "metric": "claim_recall"}
    rows = [
        {"unit": "10", "text": "Rest.", "value": 0.0, "reason": "No rest is named.", "judge": "m"},
        {"unit": "10", "text": "Rest.", "value": 1.0, "reason": None, "judge": RULES_JUDGE},
        {"unit": "9", "text": "<b>", "value": None, "reason": None, "judge": "m"},
    ]
    first, second = claims_view(verdict_table([{**about, **row} for row in rows], judge=""))["d"]["s"]
    assert (first["text"], first["judged"], first["reason"], first["judged_rules"]) == ("<b>", None, "", None)
    assert (second["judged"], second["reason"], second["judged_rules"]) == (False, "No rest is named.", True)


def test_the_patient_with_the_most_facts_lost_is_shown_with_what_became_of_each_and_of_each_statement() -> None:
    name = "writer, referral, 60 words"
    notes = pd.DataFrame(
        [
            (1, 0, "Day 0\n\n**History**\nCough.", True),
            (2, 1, "Day 9\n\nWell.", False),
            (2, 0, "Day 0\n\nFever.", True),
        ],
        columns=["patient", "visit", "text", "consistent"],
    )
    facts = pd.DataFrame({"patient": [1, 2, 2, 2, 2], "claim": ["C", "F", "G", "H", "I"]})
    summaries = pd.DataFrame(
        {"patient": [1, 2], "system": "writer", "purpose": "referral", "words": 60, "length": [3, 4], "text": "Text."}
    )
    stated = pd.DataFrame(
        [("1", "0", "whole"), ("2", "0", "whole"), ("2", "1", "part"), ("2", "2", "none")],
        columns=["document", "unit", "verdict"],
    ).assign(metric="claim_recall", system=name, value=lambda table: table["verdict"].eq("whole").astype(float))
    said = [
        ("2", "0", "contradicted", "Wrong."),
        ("2", "1", "supported", "Right."),
        ("2", "2", None, ""),
        ("2", "3", None, "Unread."),
    ]
    checked = pd.DataFrame(said, columns=["document", "unit", "verdict", "text"]).assign(system=name)
    shown, other = history_view(notes, facts, summaries, stated, checked, patients=5)
    assert (shown["patient"], other["patient"]) == (2, 1)
    first, last = {"title": "Day 0", "mark": "", "text": "Fever."}, {"title": "Day 9", "mark": FLAGGED, "text": "Well."}
    assert shown["visits"] == [first, last]
    assert other["visits"] == [{"title": "Day 0", "mark": "", "text": "History\nCough."}]
    (summary,) = shown["summaries"]
    assert (summary["name"], summary["length"], summary["text"]) == (name, 4, "Text.")
    assert summary["facts"] == [("F", "kept"), ("G", "part"), ("H", "lost"), ("I", "unscored")]
    assert summary["statements"] == [("Wrong.", "wrong"), ("Right.", "right"), ("Unread.", "unscored")]
    assert summary["counts"] == {
        "facts": {"kept": 1, "part": 1, "lost": 1, "unscored": 1},
        "statements": {"right": 1, "wrong": 1, "not found": 0, "unscored": 1},
    }
    assert [view["patient"] for view in history_view(notes, facts, summaries, stated, checked, patients=1)] == [2]
