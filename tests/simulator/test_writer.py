"""The simulator's writer answers prompts with varied, sound notes, and knows their exact spans."""

import json
import re
import subprocess
import sys
from collections import Counter

import pandas as pd
import pytest

from flows.engine.simulated_truth import GoldNotes, write_gold
from tasks.domains.rules import load_rules
from tasks.notes.prompting import build_prompts
from tasks.notes.replies import read_note, read_notes
from tasks.simulator import dispatch
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import GoldSpan, truth
from tasks.simulator.writer.instructions import Mention, read_instructions
from tasks.simulator.writer.rates import ErrorRates
from tasks.simulator.writer.rules import grammar
from tasks.simulator.writer.unrelated import complaints
from tests.support.imports import ROOT
from tests.support.records import PARENTS, random_records

NO_ERRORS = ErrorRates({})


@pytest.fixture(scope="module")
def prompts() -> pd.DataFrame:
    return build_prompts(random_records(300, seed=3), PARENTS, load_rules(), seed=5)


@pytest.fixture(scope="module")
def notes(prompts: pd.DataFrame) -> GoldNotes:
    return write_gold(prompts)


def request(prompt: str, seed: int = 0, model: str = "vignette-writer") -> ChatRequest:
    return ChatRequest(model, (("system", "You write notes."), ("user", prompt)), seed=seed)


def symptom_prompt(*lines: str, avoid: tuple[str, ...] = ()) -> str:
    listed = "\n".join(f"- {line}" for line in lines)
    kept_out = "\n".join(f"- {name}" for name in avoid)
    return (
        f"Task: write a clinical note\n\nThe note must cover these symptoms:\n{listed}\n\n"
        f"The note must not touch on these symptoms at all:\n{kept_out}\n\nLay the note out like this:\n**History**"
    )


def test_order_is_read_from_the_prompt_as_text(prompts: pd.DataFrame) -> None:
    labels = {v: k for k, v in load_rules().labels.items()}
    for row in prompts[prompts["kind"] == "symptoms"].to_dict("records"):
        order = read_instructions(request(row["prompt"]), "write a clinical note", row["prompt"])
        values, descriptors = json.loads(row["values"]), json.loads(row["descriptors"])
        assert [m.symptom for m in order.mentions] == json.loads(row["mention"])
        assert list(order.avoid) == json.loads(row["avoid"])
        assert [labels[name] for name in order.conditions] == json.loads(row["conditions"])
        for mention in order.mentions:
            assert mention == Mention(mention.symptom, values[mention.symptom], descriptors[mention.symptom])


def test_every_reply_is_a_note_with_both_sections(prompts: pd.DataFrame, notes: GoldNotes) -> None:
    for row in prompts.to_dict("records"):
        assert read_note(notes.normal[row["record"]].text) == notes.normal[row["record"]].text
        assert read_note(notes.compact[row["record"]].text) == notes.compact[row["record"]].text
    shared = prompts[prompts["kind"] == "unrelated"].iloc[0]
    reply = dispatch.complete(request(shared["prompt"], seed=8))
    assert len(read_notes(reply)) == 3


def test_text_is_clean(notes: GoldNotes) -> None:
    for known in [*notes.normal.values(), *notes.compact.values()]:
        assert not re.search(r" [,.;:](?!\d)| {2}|\n{3}|[{}\[\]|^\\]|,,|\.\.|\(\)", known.text), known.text
        assert not set("!$") & set(known.text), known.text
    for known in notes.normal.values():
        assert "~" not in known.text
        for line in known.text.splitlines():
            assert not line or line[0].isupper() or line[0] in "*-", known.text
        assert not re.search(
            r"\ba [aeio]|\b(?:an) [bcdfgjklmnpqrstvwxyz]|\bthey (?:is|has|was|asks|reports)\b", known.text
        )


def test_gold_spans_lie_in_the_text_and_have_the_polarity_asked_for(prompts: pd.DataFrame, notes: GoldNotes) -> None:
    for row in prompts.to_dict("records"):
        values = json.loads(row["values"])
        for known in (notes.normal[row["record"]], notes.compact[row["record"]]):
            for span in known.spans:
                assert known.text[span.start : span.end] == span.text
                assert span.text == span.text.strip() and span.text
            if row["kind"] != "symptoms" or notes.normal[row["record"]].error or known.error:
                continue
            for span in known.spans:
                said = span.symptom in json.loads(row["mention"])
                present = values[span.symptom] not in ("no", "none")
                assert span.present == (present and said), (row["record"], span)


def test_a_note_mentions_required_symptoms_and_no_forbidden_ones(prompts: pd.DataFrame, notes: GoldNotes) -> None:
    for row in prompts[prompts["kind"] == "symptoms"].to_dict("records"):
        known = notes.normal[row["record"]]
        if known.error:
            continue
        in_history = {span.symptom for span in known.spans if span.section == "history"}
        assert in_history == set(json.loads(row["mention"])), known.text


def test_other_notes_name_no_present_airway_symptom(prompts: pd.DataFrame, notes: GoldNotes) -> None:
    others = prompts.loc[prompts["kind"] != "symptoms", "record"]
    assert len(others) > 20
    for record in others:
        assert notes.normal[record].error or not any(span.present for span in notes.normal[record].spans)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "cough: yes, dry",
            r"dry|no sputum|without (?:any )?(?:sputum|phlegm)|nothing is brought|unproductive|non-prod",
        ),
        ("dyspnea: yes, worse when lying down", r"lying"),
        ("respiratory pain: yes, localized on left side", r"left"),
        ("cough: yes, non-productive at first and later purulent", r"purulent"),
        ("dyspnea: yes, like a cat on the chest", r"like a cat on the chest"),
    ],
)
def test_descriptors_are_kept(line: str, words: str) -> None:
    for seed in range(60):
        (known,) = truth(request(symptom_prompt(line), seed), NO_ERRORS)
        assert re.search(words, known.text.lower()), known.text


def test_every_descriptor_of_the_prompts_has_words_of_its_own() -> None:
    rules = grammar()
    for symptom, by_cause in load_rules().descriptors.items():
        for descriptor in {d for listed in by_cause.values() for d in listed}:
            assert f"{symptom}.np.{descriptor}" in rules, (symptom, descriptor)
            assert f"{symptom}.more_of.{descriptor}" in rules, (symptom, descriptor)


def _celsius(text: str) -> list[float]:
    return [
        float(number) if unit == "C" else (float(number) - 32) / 1.8
        for number, unit in re.findall(r"(\d+\.\d)°([CF])", text)
    ]


@pytest.mark.parametrize(("level", "low", "high"), [("high", 38.5, 40.5), ("low", 37.4, 38.5), ("none", 36.0, 37.2)])
def test_temperatures_agree_with_the_fever(level: str, low: float, high: float) -> None:
    found = []
    for seed in range(80):
        (known,) = truth(request(symptom_prompt(f"fever: {level}", "cough: yes"), seed), NO_ERRORS)
        found += _celsius(known.text)
    assert found and all(low <= value <= high for value in found), sorted(found)[:: len(found) - 1]


def test_no_temperature_if_fever_must_not_be_mentioned() -> None:
    for seed in range(80):
        (known,) = truth(request(symptom_prompt("cough: yes", avoid=("fever",)), seed), NO_ERRORS)
        assert not _celsius(known.text), known.text


def test_lungs_are_clear_without_cough_and_dyspnea() -> None:
    for seed in range(80):
        (known,) = truth(request(symptom_prompt("nasal symptoms: yes", "cough: no", "dyspnea: no"), seed), NO_ERRORS)
        assert not re.search(
            r"(?<!no )(?<!or )(?<!without )\b(?:wheez|crackl|rhonch|rales)", known.text.lower().replace(", ", " or ")
        ), known.text


def test_same_request_same_note_and_another_seed_another_note(prompts: pd.DataFrame) -> None:
    prompt = prompts["prompt"].iloc[0]
    assert dispatch.complete(request(prompt, 3)) == dispatch.complete(request(prompt, 3))
    assert len({dispatch.complete(request(prompt, seed)) for seed in range(50)}) == 50


def test_notes_do_not_depend_on_the_hash_seed_of_the_process(prompts: pd.DataFrame) -> None:
    code = (
        "import json,sys;from tasks.simulator import dispatch;from tasks.simulator.request import ChatRequest;"
        "print(dispatch.complete(ChatRequest('vignette-writer',(('user',json.load(sys.stdin)),),seed=4)))"
    )
    prompt = prompts["prompt"].iloc[1]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(prompt),
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            cwd=ROOT,
            text=True,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_truth_belongs_to_the_reply_of_the_handler(prompts: pd.DataFrame) -> None:
    for prompt in prompts["prompt"].head(40):
        asked = request(prompt, seed=11)
        assert dispatch.complete(asked) == "\n---\n".join(known.text for known in truth(asked))


def test_three_notes_have_three_complaints(prompts: pd.DataFrame) -> None:
    shared = prompts.loc[prompts["kind"] == "unrelated", "prompt"].iloc[0]
    for seed in range(40):
        openings = {known.text.splitlines()[1] for known in truth(request(shared, seed))}
        assert len(openings) == 3


def test_there_are_at_least_sixty_kinds_of_other_complaints_each_with_several_findings() -> None:
    kinds, _ = complaints()
    assert len(kinds) >= 60
    rules = grammar()
    for kind in kinds:
        family = {part: len(rules.lists.get(f"family.{kind.family}.{part}", [])) for part in ("detail", "exam")}
        assert len(rules.lists[f"complaint.{kind.name}.detail"]) + family["detail"] >= 5
        assert len(rules.lists[f"complaint.{kind.name}.exam"]) + family["exam"] >= 2


def test_present_and_absent_findings_are_both_given_by_lay_and_clinical_words() -> None:
    spans: Counter[str] = Counter()
    for seed in range(250):
        (known,) = truth(request(symptom_prompt("dyspnea: yes", "fever: none"), seed), NO_ERRORS)
        spans.update(_words(known.spans))
    assert {"dyspnea", "breath", "breathlessness", "stairs"} <= set(spans)


def _words(spans: tuple[GoldSpan, ...]) -> set[str]:
    return {word for span in spans for word in re.findall(r"[a-z]+", span.text.lower())}


def test_a_vital_sign_is_measured_once_in_an_examination(notes: GoldNotes) -> None:
    for known in notes.normal.values():
        examined = known.text.split("**Physical Examination**")[1]
        for pattern in (r"\b\d{2,3}/\d{2,3}\b", r"\b\d{2,3} ?(?:bpm|per minute and regular)", r"\d+% "):
            assert len(re.findall(pattern, examined)) <= 1, examined


def test_notes_without_a_complaint_speak_of_no_symptoms_in_general() -> None:
    prompt = symptom_prompt("cough: no", avoid=("dyspnea", "fever"))
    for seed in range(80):
        (known,) = truth(request(prompt, seed), NO_ERRORS)
        history = known.text.split("**Physical Examination**")[0]
        assert not re.search(r"\b(?:the|these) (?:symptoms|complaints)\b|relief", history), history


def test_verbs_agree_with_denied_symptoms(notes: GoldNotes) -> None:
    singular = (
        r"\b[Tt]here (?:is|was|has been) no (?:associated |accompanying |noticeable )?"
        r"(?:nasal (?:symptoms|complaints)|breathing difficulties)"
    )
    for known in notes.normal.values():
        assert not re.search(singular, known.text), known.text


def test_an_examination_contradicts_no_finding_of_the_complaint(prompts: pd.DataFrame) -> None:
    shared = prompts.loc[prompts["kind"] == "unrelated", "prompt"].iloc[0]
    for seed in range(150):
        for known in truth(request(shared, seed), NO_ERRORS):
            examined = known.text.split("**Physical Examination**")[1]
            swollen = re.search(r"\b(?:pitting edema|swelling of the ankles) ", examined)
            assert not (swollen and re.search(r"no (?:peripheral )?edema|free of edema", examined)), examined
