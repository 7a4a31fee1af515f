"""The annotator's tasks, with the requests of the stages."""

import asyncio
import json

import pandas as pd
import pytest

from tasks.domains.rules import load_rules
from tasks.evaluation.annotator.consistency_checks import verdict_rows
from tasks.evaluation.annotator.edit_checks import edit_verdicts
from tasks.evaluation.annotator.quality import agreement, agreement_table, f1, spans_by_record
from tasks.evaluation.annotator.real_notes import read_real_notes, real_notes_file
from tasks.llm.prompts import render
from tasks.notes.consistency import consistency_call
from tasks.simulator.annotator import consistency, instructions
from tasks.simulator.annotator.comparison import differences
from tasks.simulator.annotator.correction import correct
from tasks.simulator.annotator.mapping import map_phrases, same_meaning
from tasks.simulator.annotator.spans import find_spans
from tasks.simulator.dispatch import complete
from tasks.simulator.request import ChatRequest
from tasks.spans.annotation import annotate_spans
from tests.support.direct import DirectAsk
from tests.support.sources import needs_sources, sources_folder

NOTE = (
    "**History**\nThe patient presents with a dry cough that has lasted a week, worse at night. The patient denies "
    "fever, shortness of breath, or chest pain. There is a known history of asthma.\n\n**Physical Examination**\n"
    "Temperature 36.8°C. Nasal mucosa is swollen with clear discharge. Lungs are clear."
)
COMPACT = (
    "**History**\nPt w/ dry cough x 1 wk, worse at night. Denies fever, SOB, or CP. Hx of asthma.\n\n"
    "**Physical Examination**\nT 36.8°C. Nasal mucosa swollen w/ clear d/c. Lungs CTA."
)


def ask(name: str, package: str = "tasks.spans", **fields: object) -> dict:
    messages = tuple((m.role, m.content) for m in render(package, name, **fields))
    return json.loads(complete(ChatRequest("vignette-annotator", messages)))


def instruction_text(mention: list[str], avoid: tuple[str, ...] = (), conditions: tuple[str, ...] = ("asthma",)) -> str:
    fields = {"mention": mention, "avoid": list(avoid), "absent": [], "conditions": list(conditions), "count": 1}
    return prompt(**fields, forbidden_conditions=[])


def prompt(**fields: object) -> str:
    """A writing prompt, with its rules of style."""
    wording = {"definitions": load_rules().glossary, "phrases": load_rules().phrases}
    instructions = render("tasks.notes", "instructions", **wording, **fields)[-1].content
    asked = {"task": "write a clinical note", "own_complaint": not fields["mention"], "count": 1}
    return render("tasks.notes", "note", instructions=instructions, **asked)[-1].content


def test_spans_are_words_of_the_note() -> None:
    reply = ask("extract", phrases=load_rules().phrases, definitions=load_rules().glossary, facts=[], note=NOTE)
    assert {(s["symptom"], s["text"]) for s in reply["spans"]} == {
        ("cough", "dry cough that has lasted a week, worse at night"),
        ("fever", "denies fever"),
        ("dyspnea", "denies fever, shortness of breath"),
        ("respiratory pain", "denies fever, shortness of breath, or chest pain"),
        ("nasal symptoms", "Nasal mucosa is swollen with clear discharge"),
    }
    renamed = ask(
        "extract", phrases=load_rules().phrases, definitions={"airway pain": "pain in the chest"}, facts=[], note=NOTE
    )
    assert {s["symptom"] for s in renamed["spans"]} == {"airway pain"}


def test_phrases_are_mapped_checked_and_corrected() -> None:
    found = map_phrases(
        NOTE, COMPACT, ["denies fever, shortness of breath", "Nasal mucosa is swollen with clear discharge"]
    )
    assert found == ["Denies fever, SOB", "Nasal mucosa swollen w/ clear d/c"]
    assert same_meaning("denies any dyspnea", "No SOB")
    assert not same_meaning("denies any dyspnea", "c/o SOB")
    assert not same_meaning("low-grade fever of 38.2°C", "T 39.4")
    assert correct(NOTE, "dry coughs that have lasted a week") == "dry cough that has lasted a week"
    assert correct(NOTE, "denies ... chest pain") == "denies fever, shortness of breath, or chest pain"
    assert correct(NOTE, "a sprained ankle of long standing") == ""


def test_second_question_empties_pairs_that_differ() -> None:
    reply = json.dumps(
        {"pairs": [{"phrase": "denies cough", "match": "no cough"}, {"phrase": "denies cough", "match": "c/o cough"}]}
    )
    messages = (("user", "Task: map phrases to the compact note"), ("assistant", reply))
    messages += (("user", render("tasks.spans", "same_meaning")[-1].content),)
    pairs = json.loads(complete(ChatRequest("vignette-annotator", messages)))["pairs"]
    assert [p["match"] for p in pairs] == ["no cough", ""]


def test_consistent_note_passes() -> None:
    asked = instruction_text(["cough: yes, dry", "fever: none", "dyspnea: no", "nasal symptoms: yes"])
    assert ask("consistency", "tasks.notes", phrases=load_rules().phrases, instructions=asked, note=NOTE) == {
        "consistent": True,
        "explanation": "",
    }


@pytest.mark.parametrize(
    ("kind", "mention", "avoid", "conditions", "note"),
    [
        (
            "dropped",
            ["nasal symptoms: no"],
            (),
            ("asthma",),
            NOTE.replace("Nasal mucosa is swollen with clear discharge. ", ""),
        ),
        ("contradicted", ["cough: no"], (), ("asthma",), NOTE),
        ("contradicted", ["dyspnea: yes"], (), ("asthma",), NOTE),
        ("contradicted", ["fever: none"], (), ("asthma",), NOTE.replace("36.8", "39.4")),
        ("contradicted", ["fever: high"], (), ("asthma",), NOTE.replace("denies fever, ", "has a mild fever, denies ")),
        ("descriptor", ["cough: yes, gurgling"], (), ("asthma",), NOTE),
        ("forbidden", ["cough: yes"], ("fever",), ("asthma",), NOTE),
        ("condition", ["cough: yes"], (), ("COPD",), NOTE),
        ("diagnosis", ["cough: yes"], (), ("asthma",), NOTE + " Findings are suggestive of bronchitis."),
        (
            "demographics",
            ["cough: yes"],
            (),
            ("asthma",),
            NOTE.replace("The patient presents", "A 52-year-old presents"),
        ),
        ("demographics", ["cough: yes"], (), ("asthma",), NOTE.replace("The patient denies", "She denies")),
    ],
)
def test_each_violation_of_the_prompt_is_found(
    kind: str, mention: list[str], avoid: tuple[str, ...], conditions: tuple[str, ...], note: str
) -> None:
    found = consistency.departures(note, instructions.read(instruction_text(mention, avoid, conditions)))
    assert kind in {departure.kind for departure in found}


@pytest.mark.parametrize(
    "sentence",
    [
        "Smokes, and a cold always takes longer to clear than in the partner.",
        "A colleague was off with a similar cold last week.",
        "Coarse rhonchi that clear after coughing.",
        "Settles on two pillows at night.",
        "Respirations are unlabored.",
    ],
)
def test_incidental_remarks_are_no_departures(sentence: str) -> None:
    note = NOTE.replace(", shortness of breath,", "").replace("dry cough that has lasted", "sneezing that has lasted")
    asked = instruction_text(["nasal symptoms: yes"], ("cough", "dyspnea"), ("asthma", "smoking"))
    found = consistency.departures(f"{note} {sentence}", instructions.read(asked))
    assert not {d.about for d in found} & {"cough", "dyspnea", "common cold"}, found


def test_a_forbidden_symptom_named_in_the_examination_is_a_departure() -> None:
    asked = instructions.read(instruction_text(["nasal symptoms: yes"], ("cough", "fever")))
    note = "**History**\nA runny nose.\n\n**Physical Examination**\nNo cough is heard. The patient is afebrile."
    assert {d.about for d in consistency.departures(note, asked) if d.kind == "forbidden"} == {"cough", "fever"}


@pytest.mark.parametrize(
    ("sentence", "span"),
    [
        (
            "Known with asthma, made an appointment because of shortness of breath since yesterday.",
            "shortness of breath",
        ),
        ("The patient presents with complaints of a dry cough, occurring at night.", "a dry cough, occurring at night"),
        ("The patient is well but has a high fever, and a rash on the arms.", "high fever"),
    ],
)
def test_spans_start_at_the_noun_phrase_and_end_with_its_modifiers(sentence: str, span: str) -> None:
    (found,) = find_spans(f"**History**\n{sentence}")
    shown = f"**History**\n{sentence}"[found.start : found.end]
    assert span in shown and len(shown) <= 2 * len(span) + 12, shown


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("A dry cough for a week. It is worst at night.", {"A dry cough for a week", "It is worst at night"}),
        ("A dry cough and a fever. It is worst at night.", {"A dry cough", "a fever"}),
        ("A dry cough for a week. It is unclear why.", {"A dry cough for a week"}),
        ("A cough. It is described as a hacking cough.", {"A cough", "It is described as a hacking cough"}),
        ("A cough. Worse when lying down.", {"A cough", "Worse when lying down"}),
        ("There is no fever.", {"is no fever"}),
        ("No shortness of breath at rest or during exercise.", {"No shortness of breath at rest or during exercise"}),
        ("No cough, day or night.", {"No cough, day or night"}),
    ],
)
def test_what_refers_back_or_qualifies_a_denial_belongs_to_the_symptom(text: str, spans: set[str]) -> None:
    note = f"**History**\n{text}"
    assert {note[s.start : s.end] for s in find_spans(note)} == spans


def test_unrelated_visit() -> None:
    absent = ["dyspnea", "cough"]
    asked = prompt(mention=[], avoid=[], absent=absent, conditions=[], forbidden_conditions=["asthma"], count=1)
    note = "**History**\nKnee pain for a week. Denies cough.\n\n**Physical Examination**\nThe knee is swollen."
    assert consistency.departures(note, instructions.read(asked)) == []
    coughs = note.replace("Denies cough", "Reports a cough and asthma")
    assert {d.kind for d in consistency.departures(coughs, instructions.read(asked))} == {"contradicted", "condition"}


def test_compact_notes_are_compared() -> None:
    reply = ask("compare_compact", "tasks.notes", note=NOTE, compact=COMPACT)
    assert reply == {"same": True, "differences": []}
    changes = [("Denies fever, SOB, or CP", "Denies fever or CP"), ("36.8", "39.1"), ("x 1 wk", "x 3 wks")]
    for old, new in changes:
        assert differences(NOTE, COMPACT.replace(old, new)), old


@pytest.mark.parametrize("text", ["", "**History**", "....", "é☃" * 50, "no " * 500, "(", "denies " * 200 + "cough"])
def test_odd_notes_are_answered(text: str) -> None:
    assert "spans" in ask(
        "extract", phrases=load_rules().phrases, definitions={"cough": "any cough"}, facts=[], note=text
    )
    assert "consistent" in ask(
        "consistency",
        "tasks.notes",
        phrases=load_rules().phrases,
        instructions=instruction_text(["cough: yes"]),
        note=text,
    )
    assert differences(text, text) == ()
    assert find_spans(text) is not None


@needs_sources
def test_compact_versions_of_real_notes_reach_the_measures() -> None:
    file = real_notes_file(sources_folder())
    assert file is not None
    notes, labels = read_real_notes(file), {symptom: load_rules().labels[symptom] for symptom in load_rules().symptoms}
    spans, unscored = asyncio.run(
        annotate_spans(
            pd.DataFrame([{"record": n.record, **dict.fromkeys(labels, "unknown")} for n in notes]),
            pd.DataFrame([{"record": n.record, "note": n.text["normal"]} for n in notes]),
            pd.DataFrame([{"record": n.record, "compact": n.text["compact"]} for n in notes]),
            labels,
            load_rules().glossary,
            DirectAsk("vignette-annotator"),
            max_corrections=3,
        )
    )
    table = agreement_table(
        notes, spans_by_record(spans, labels), "all", seed=7, provenance="x", unscored=len(unscored)
    ).set_index(["system", "condition", "item", "metric"])["value"]
    assert table["annotator", "compact", "span_iou_0.5", "f1"] >= 0.8
    assert table["annotator", "compact", "symptom_in_note", "f1"] >= 0.9


@needs_sources
def test_real_notes_reach_the_measures() -> None:
    file = real_notes_file(sources_folder())
    assert file is not None
    notes = read_real_notes(file)
    for half in (0, 1):
        chosen = [n for n in notes if n.record % 2 == half]
        own = {n.record: list(find_spans(n.text["normal"])) for n in chosen}
        counts = agreement(
            {n.record: n.text["normal"] for n in chosen}, own, {n.record: list(n.spans["normal"]) for n in chosen}
        )  # type: ignore[arg-type]
        assert f1(counts["span_iou_0.5"]) >= 0.7
        assert f1(counts["symptom_in_note"]) >= 0.93
    verdicts = asyncio.run(
        edit_verdicts(notes, DirectAsk("vignette-annotator"), consistency_call, rules=load_rules(), seed=7)
    )
    rows = verdict_rows(verdicts, stage="x", system="x", seed=7, provenance="x").set_index(["item", "metric"])["value"]
    assert (verdicts["kind"] != "none").sum() >= 100
    assert rows["all", "recall"] >= 0.95
    assert rows["all", "precision"] >= 0.95
