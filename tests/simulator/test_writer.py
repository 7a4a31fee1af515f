"""The simulator's writer answers prompts with varied, sound notes, and knows their exact spans."""

import json
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tasks.domains.rules import load_rules
from tasks.judges.simulated_notes import GoldNotes, write_gold
from tasks.notes.prompting import build_prompts
from tasks.notes.writing import read_note, read_notes
from tasks.simulator import dispatch
from tasks.simulator.prompts import Mention
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import ERROR_KINDS, Truth, compact_truth, truth
from tasks.simulator.writer.compact_version import write_compact
from tasks.simulator.writer.notes import instructions_of
from tasks.simulator.writer.rules import grammar
from tests.support.cases import each
from tests.support.records import NETWORK, random_records

NO_ERRORS: dict[str, float] = {}
DEFECTS = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def prompts() -> pd.DataFrame:
    return build_prompts(random_records(250, seed=8), NETWORK, load_rules(), seed=9)


@pytest.fixture(scope="module")
def notes(prompts: pd.DataFrame) -> GoldNotes:
    return write_gold(prompts)


def request(prompt: str, seed: int = 0, model: str = "vignette-writer") -> ChatRequest:
    return ChatRequest(model, (("system", "You write notes."), ("user", prompt)), seed=seed)


def symptom_prompt(*lines: str, avoid: tuple[str, ...] = ()) -> str:
    listed = "\n".join(f"- {line}" for line in lines)
    kept_out = "\n".join(f"- {name}" for name in avoid)
    return (
        f"Task: write a clinical note\n\nThe note must mention these symptoms, as they are given here:\n{listed}\n\n"
        f"These symptoms must not be mentioned:\n{kept_out}\n\nLay the note out like this:\n**History**"
    )


def written(*lines: str, avoid: tuple[str, ...] = (), seeds: int = 40) -> list[Truth]:
    """Notes without errors for one prompt."""
    return [truth(request(symptom_prompt(*lines, avoid=avoid), seed), NO_ERRORS)[0] for seed in range(seeds)]


def parts(note: str) -> tuple[str, str]:
    """History and examination."""
    history, _, examination = note.partition("**Physical Examination**")
    return history, examination


def test_order_is_read_from_the_prompt_as_text(prompts: pd.DataFrame) -> None:
    labels = {v: k for k, v in load_rules().labels.items()}
    for row in prompts[prompts["kind"] == "symptoms"].to_dict("records"):
        order = instructions_of(row["prompt"])
        values, descriptors = json.loads(row["values"]), json.loads(row["descriptors"])
        assert [m.symptom for m in order.mentions] == json.loads(row["mention"])
        assert list(order.avoid) == json.loads(row["avoid"])
        assert [labels[name] for name in order.conditions] == json.loads(row["conditions"])
        for mention in order.mentions:
            assert mention == Mention(mention.symptom, values[mention.symptom], descriptors[mention.symptom] or "")


def test_every_reply_is_a_note_with_both_sections(prompts: pd.DataFrame, notes: GoldNotes) -> None:
    for known in [*notes["normal"].values(), *notes["compact"].values()]:
        assert read_note(known.text) == known.text
    shared = prompts.loc[prompts["kind"] == "unrelated", "prompt"].iloc[0]
    assert len(read_notes(dispatch.complete(request(shared, seed=8)))) == 3


@each("version", ["normal", "compact"])
def test_texts_are_free_of_known_defects(notes: GoldNotes, version: str) -> None:
    for known in notes[version].values():
        found = [f"{name}: {re.search(p, known.text)}" for name, p in (DEFECTS[version] | DEFECTS["both"]).items()
                 if re.search(p, known.text)]  # fmt: skip
        assert not found, known.text
        for sentence in sentences(known.text):
            runs = Counter(re.findall(r"(?=\b((?:[a-z0-9'/-]+ ){4}[a-z0-9'/-]+))", sentence.lower()))
            assert max(runs.values(), default=1) == 1, sentence


def sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+|\n", text) if part]


def test_gold_spans_lie_in_the_text_and_have_the_polarity_asked_for(prompts: pd.DataFrame, notes: GoldNotes) -> None:
    for row in prompts.to_dict("records"):
        values, asked = json.loads(row["values"]), set(json.loads(row["mention"]))
        normal, compact = notes["normal"][row["record"]], notes["compact"][row["record"]]
        for known in (normal, compact):
            for span in known.spans:
                assert known.text[span.start : span.end] == span.text == span.text.strip() != ""
                assert span.present or not re.search(
                    r"^(?:denies|no|without)\b.* and (?:fever|cough|dyspnea)$", span.text
                )
                present = span.symptom in asked and values[span.symptom] not in ("no", "none")
                assert span.present == present or row["kind"] != "symptoms" or normal.error or known.error, span
        if normal.error is None and row["kind"] == "symptoms":
            assert {span.symptom for span in normal.spans if span.section == "history"} == asked, normal.text
        elif normal.error is None:
            assert not any(span.present for span in normal.spans), normal.text


def test_every_descriptor_of_the_prompts_has_words_of_its_own() -> None:
    for symptom, by_cause in load_rules().descriptors.items():
        for descriptor in {d for listed in by_cause.values() for d in listed}:
            assert {f"{symptom}.{part}.{descriptor}" for part in ("np", "more_of")} <= set(grammar().rules)


def celsius(known: Truth) -> list[float]:
    read = re.findall(r"(\d+\.\d)°([CF])", known.text)
    return [float(number) if unit == "C" else (float(number) - 32) / 1.8 for number, unit in read]


@each("level, low, high", [("high", 38.5, 40.5), ("low", 37.4, 38.5), ("none", 36.0, 37.2)])
def test_temperatures_agree_with_the_fever(level: str, low: float, high: float) -> None:
    found = [value for known in written(f"fever: {level}", "cough: yes") for value in celsius(known)]
    assert found and all(low <= value <= high for value in found), sorted(found)[:: len(found) - 1]


def test_truth_belongs_to_the_reply_of_the_handler(prompts: pd.DataFrame) -> None:
    for prompt in prompts["prompt"].head(40):
        asked = request(prompt, seed=11)
        assert dispatch.complete(asked) == "\n---\n".join(known.text for known in truth(asked))


def test_three_notes_have_three_complaints_whose_examinations_contradict_no_finding(prompts: pd.DataFrame) -> None:
    shared = prompts.loc[prompts["kind"] == "unrelated", "prompt"].iloc[0]
    for seed in range(50):
        three = truth(request(shared, seed), NO_ERRORS)
        assert len({known.text.splitlines()[1] for known in three}) == 3
        for examined in (parts(known.text)[1] for known in three):
            swollen = re.search(r"\b(?:pitting edema|swelling of the ankles) ", examined)
            assert not (swollen and re.search(r"no (?:peripheral )?edema|free of edema", examined)), examined


@pytest.fixture(scope="module")
def unrelated_notes(prompts: pd.DataFrame) -> list[tuple[str, str]]:
    """History and examination of notes for complaints outside the domain."""
    prompt = prompts.loc[prompts["kind"] == "unrelated", "prompt"].iloc[0]
    written = (known for seed in range(150) for known in truth(request(prompt, seed), NO_ERRORS))
    return [parts(known.text.removeprefix("**History**\n")) for known in written]


def test_the_skin_is_not_normal_where_it_is_the_complaint(unrelated_notes: list[tuple[str, str]]) -> None:
    complaint = re.compile(r"\b(?:rash|red spots|hives|welts|mole|insect bite|wasp sting|sunburn)\b")
    other = "(?<!remaining )(?<!surrounding )(?<!rest of the )"
    normal = re.compile(rf"{other}\b(?:[Ss]kin (?:is|was) (?:warm|intact|healthy|normal)|[Nn]o rash)")
    found = [examination for history, examination in unrelated_notes if complaint.search(history.split(".")[0])]
    assert found and not [text for text in found if normal.search(text)]


def test_a_side_is_drawn_once_a_note(unrelated_notes: list[tuple[str, str]]) -> None:
    organ = "(?:flank|ear|shoulder)"
    sided = [
        (re.search(rf"\b(left|right) {organ}\b", history), f"{history}{found}") for history, found in unrelated_notes
    ]
    other = {"left": "right", "right": "left"}
    wrong = [note for side, note in sided if side and re.search(rf"\b{other[side[1]]} {organ}\b", note)]
    assert any(side for side, _ in sided) and not wrong


PROMPT = symptom_prompt("cough: yes, dry", "dyspnea: no", "fever: high", avoid=("nasal symptoms", "respiratory pain"))


def planted(kind: str, prompt: str = PROMPT) -> list[Truth]:
    return [truth(request(prompt, seed), {kind: 1.0})[0] for seed in range(40)]


def test_a_condition_is_planted_only_where_the_prompt_lists_conditions() -> None:
    assert not any(known.error for known in planted("extra_condition"))


def compact_request(note: str, seed: int) -> ChatRequest:
    turns = (("user", PROMPT), ("assistant", note), ("user", "Task: write the compact version"))
    return ChatRequest("vignette-writer", turns, seed=seed)


def planted_compact(kind: str) -> list[tuple[Truth, Truth]]:
    notes = [truth(request(PROMPT, seed), NO_ERRORS)[0] for seed in range(40)]
    rates = {kind: 1.0}
    return [(note, compact_truth(compact_request(note.text, seed), note, rates)) for seed, note in enumerate(notes)]


def symptoms(known: Truth) -> dict[str, set[bool]]:
    found: dict[str, set[bool]] = {}
    for span in known.spans:
        if span.section == "history":
            found.setdefault(span.symptom, set()).add(span.present)
    return found


def test_calibration_model_reaches_every_kind(prompts: pd.DataFrame) -> None:
    notes = write_gold(prompts, "vignette-writer-calibration")
    for version, kinds in ERROR_KINDS.items():
        counts = Counter(t.error.kind for t in notes[version].values() if t.error)
        assert set(counts) == set(kinds)
        assert sum(counts.values()) > 0.4 * len(prompts)


@each("kind", ["symptom_dropped", "contradicted", "descriptor_lost", "forbidden_mentioned"])
def test_an_error_of_content_shows_in_the_spans(kind: str) -> None:
    truly = {"cough": True, "dyspnea": False, "fever": True}
    for known in planted(kind):
        assert known.error and known.error.item
        item, found = known.error.item, symptoms(known)
        if kind == "symptom_dropped":
            assert item not in {span.symptom for span in known.spans}
        elif kind == "contradicted":
            assert found[item] == {not truly[item]}
        elif kind == "descriptor_lost":
            assert item == "cough" and not any("dry" in s.text for s in known.spans if s.symptom == "cough"), known.text
        else:
            assert item in {"nasal", "pain"} & found.keys()


def test_a_forbidden_symptom_is_examined_as_often_as_in_the_published_notes() -> None:
    """3 of 33 published notes with symptoms; and an examined symptom is never left without its label."""
    found = [truth(request(PROMPT, seed))[0] for seed in range(600)]
    assert 0.05 < sum(t.error is not None and t.error.kind == "forbidden_examined" for t in found) / 600 < 0.13
    for known in found:
        assert known.error or {span.symptom for span in known.spans} <= {"cough", "dyspnea", "fever"}, known.text
    for known in planted("forbidden_examined"):
        shown = [s for s in known.spans if known.error and s.symptom == known.error.item]
        assert shown and all(s.section == "physical_examination" and not s.present for s in shown), known.text


@each(
    "kind, words",
    [
        ("extra_condition", "asthma|smok|copd|pulmonary disease|hay fever"),
        ("diagnosis_named", "pneumonia|cold|bronchitis|infection|influenza|sinusitis|pleurisy"),
        ("age_or_sex_named", "year|woman|man|she|he "),
    ],
)
def test_added_errors_are_at_the_place_given_by_the_truth(kind: str, words: str) -> None:
    for known in planted(kind, PROMPT + "\nThe patient has these underlying health conditions:\n- asthma"):
        assert known.error and known.error.start is not None
        assert re.search(words, known.text[known.error.start : known.error.end].lower()), known.text


def test_a_detail_lost_from_the_compact_version_is_a_symptom() -> None:
    for note, known in planted_compact("detail_lost"):
        assert known.error and known.error.kind == "detail_lost"
        assert len(known.spans) < len(note.spans)


def test_a_detail_changed_in_the_compact_version_is_at_the_place_given_by_the_truth() -> None:
    changed = [known for _, known in planted_compact("detail_changed") if known.error is not None]
    assert len(changed) > 20  # of the others the detail was omitted
    for known in changed:
        assert known.error and known.error.start is not None
        assert all(known.text[s.start : s.end] == s.text for s in known.spans)
        assert re.search(r"\d|[LRlr]", known.text[known.error.start : known.error.end])


def test_a_detail_that_is_changed_is_a_side_and_no_verb() -> None:
    note = "**History**\nHe left the room. The left knee hurts."
    asked = (request(f"Task: write the compact version\n\n<note>\n{note}\n</note>", seed) for seed in range(20))
    versions = [write_compact(one, {"detail_changed": 1.0}) for one in asked]
    changed = [compact.text for compact, error in versions if error is not None]
    assert len(changed) > 10  # others omit the sentence
    assert all("left" in text.partition("room")[0] for text in changed)
    assert all(re.search(r"\b(?:right|R) knee", text, re.IGNORECASE) for text in changed)


def test_truth_of_another_note_is_refused() -> None:
    known = truth(request(PROMPT, 9), NO_ERRORS)[0]
    with pytest.raises(ValueError, match="belongs to another note"):
        compact_truth(compact_request("**History**\nCough.\n\n**Physical Examination**\nClear.", 1), known)
    with pytest.raises(ValueError, match="task 'sing' writes no note"):
        truth(ChatRequest("vignette-writer", (("user", "Task: sing"),)))
