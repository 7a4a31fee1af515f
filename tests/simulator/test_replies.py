"""The simulator's replies equal those of its recorded version, so none changes by accident.

Committed results and stored replies depend on them. After an intended change, review examples of it, then record the
digests with ``python -m tests.simulator.test_replies``.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import pytest

from tasks.simulator.annotator.comparison import differences
from tasks.simulator.annotator.consistency import departures
from tasks.simulator.annotator.correction import correct
from tasks.simulator.annotator.instructions import read
from tasks.simulator.annotator.mapping import map_phrases, same_meaning
from tasks.simulator.annotator.spans import find_spans
from tasks.simulator.clinical import demographics, findings
from tasks.simulator.clinical.similarity import similarity
from tasks.simulator.dispatch import complete
from tasks.simulator.judge.entailment import align
from tasks.simulator.judge.subclaims import claims_of
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import Truth, compact_truth, truth
from tests.simulator.test_writer import request, symptom_prompt

RECORDED = Path(__file__).with_name("replies.json")
LINES = (
    ("cough: yes, dry", "fever: high", "dyspnea: no"),
    ("cough: yes, purulent", "dyspnea: yes, at night", "respiratory pain: no", "nasal symptoms: no"),
    ("respiratory pain: yes, burning pain in windpipe", "fever: low"),
    ("dyspnea: yes, wheezing", "nasal symptoms: yes"),
    ("respiratory pain: yes, localized on right side", "cough: yes, phlegm", "fever: none"),
    ("cough: no", "fever: none"),
)
OTHERS = ("dyspnea", "cough", "respiratory pain", "fever", "nasal symptoms")
CONDITIONS = "The patient is known to have these health conditions, which you may bring up:\n- asthma\n- smoking\n\n"
UNRELATED = "Task: write three clinical notes for other complaints\n\n" + CONDITIONS


def _prompts() -> Iterator[str]:
    for lines in LINES:
        avoid = tuple(name for name in OTHERS if not any(line.startswith(name) for line in lines))
        prompt = symptom_prompt(*lines, avoid=avoid)
        yield from (prompt, prompt.replace("Lay the note", CONDITIONS + "Lay the note"))
    yield UNRELATED


@lru_cache
def notes() -> tuple[tuple[str, Truth], ...]:
    """(prompt, truth) of notes by the writer and by its calibration model."""
    found = []
    for prompt in _prompts():
        for model in ("vignette-writer", "vignette-writer-calibration"):
            for seed in range(8):
                found += [(prompt, known) for known in truth(request(prompt, seed, model))]
    return tuple(found)


@lru_cache
def compacts() -> tuple[tuple[str, Truth, Truth], ...]:
    """(prompt, normal, compact) truths."""
    found = []
    for seed, (prompt, known) in enumerate(notes()):
        turns = (("user", prompt), ("assistant", known.text), ("user", "Task: write the compact version"))
        model = ("vignette-writer", "vignette-writer-calibration")[seed % 2]
        found.append((prompt, known, compact_truth(ChatRequest(model, turns, seed=seed), known)))
    return tuple(found)


def _judged() -> Iterator[object]:
    for _, normal, compact in compacts()[::6]:
        for claim in claims_of(normal.text):
            yield align(compact.text, claim), align(normal.text, claim.replace("no ", "")), align(normal.text, claim)


def _ask(model: str, task: str, **tags: str) -> str:
    blocks = "\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in tags.items())
    return complete(ChatRequest(model, (("user", f"Task: {task}\n\n{blocks}"),)))


def _judge_tasks() -> Iterator[str]:
    for _, normal, compact in compacts()[::9]:
        facts = "\n".join(f"F{at}: {claim}" for at, claim in enumerate(claims_of(normal.text)))
        numbered = "\n".join(f"{at}. {claim}" for at, claim in enumerate(claims_of(normal.text), 1))
        sentences = "\n".join(f"[{at}] {claim}" for at, claim in enumerate(claims_of(normal.text)))
        named = "asthma exacerbation: probable\npneumonia: possible\nbronchitis: unlikely"
        yield _ask("vignette-judge", "judge claims with reasons", text=compact.text, claims=numbered)
        yield _ask("vignette-judge", "judge citations", statement=compact.text[12:90], sentences=sentences)
        yield _ask("vignette-judge", "find omitted facts", summary=compact.text, facts=facts)
        yield _ask("vignette-judge", "give a differential diagnosis", text=normal.text)
        yield _ask("vignette-judge", "grade the importance of facts", facts=facts, differential=named)
        yield _ask("vignette-judge", "find supporting facts", facts=facts, differential=named)
        yield _ask("vignette-judge", "find refuting facts", facts=facts, differential=named)
        yield _ask("vignette-judge", "group facts by mechanism", facts=facts, diagnosis="pneumonia")
        yield _ask("vignette-judge", "list facts", text=normal.text)
        yield _ask("vignette-writer", "write a cited compact note", note=sentences)


def _answers() -> Iterator[str]:
    asked = (
        "At which of the visits did the patient have a cough?",
        "How did the fever change?",
        "How is the dyspnea described?",
        "Which medicine does the note mention?",
        "Does the patient have fever or nasal symptoms?",
        "Where does the patient work?",
    )
    choices = (
        "A: Fever at first, then no fever.\nB: as worse at night\nC: 2024-01-02\nD: The notes do not tell.\nE: asthma"
    )
    texts = [known.text for _, known in notes()]
    for at in range(0, len(texts) - 1, 9):
        days = ("2024-01-02", "2024-03-04")
        block = "\n".join(
            f"<note>\nPatient: 1\nNote: {n}\nDate: {day}\n\n{texts[at + n]}\n</note>" for n, day in enumerate(days)
        )
        for question in asked:
            answered = _ask("vignette-answerer", "answer a question from notes", notes=block, question=question)
            yield answered
            tags = {"notes": block, "question": question, "choices": choices}
            yield _ask("vignette-answerer", "answer a multiple-choice question", **tags)
            for right in ("The fever is absent.", "At the visit of 2024-01-02.", answered):
                yield _ask("vignette-judge", "judge an answer", question=question, right=right, output=answered)
        yield _ask("vignette-annotator", "write a question about a patient's notes", notes=block)
        tags = {
            "notes": block,
            "question": "Which medicine does the note charted on 2024-01-02 mention?",
        }
        yield _ask("vignette-annotator", "write answer choices", **tags)


def _ratings() -> Iterator[str]:
    penalties = (
        "- [1A/cough] cough: yes, dry\n- [1B/pain] pain\n- [1C/asthma] asthma\n- [1C/other] other\n- [2A/fever] fever\n"
        "- [1D/sex_or_age] sex or age\n- [1D/diagnosis] diagnosis\n- [1D/further_symptom] further symptom"
    )
    for prompt, normal, compact in compacts()[::4]:
        tags = {"note": normal.text, "compact": compact.text, "prompt": prompt, "penalties": penalties}
        yield _ask("vignette-judge", "rate a clinical note", **tags)


def _mapped() -> Iterator[object]:
    for _, normal, compact in compacts()[::2]:
        phrases = [span.text for span in normal.spans]
        found = map_phrases(normal.text, compact.text, phrases)
        yield found, [same_meaning(a, b) for a, b in zip(phrases, found, strict=True)]
        yield [round(similarity(a, b), 6) for a, b in pairwise(phrases)]
        yield [correct(compact.text, phrase) for phrase in phrases[:2]]


def _annotator_tasks() -> Iterator[str]:
    diagnosed = "Findings suggest pneumonia. An exacerbation of asthma is present. Bronchitis was noted."
    for prompt, normal, compact in compacts()[::8]:
        for note in (normal.text, f"{normal.text} {diagnosed}"):
            tags = {"instructions": prompt, "note": note}
            yield _ask("vignette-annotator", "check a clinical note for consistency", **tags)
        yield _ask("vignette-annotator", "extract symptom spans", note=normal.text)
        tags = {"note": normal.text, "compact": compact.text}
        yield _ask("vignette-annotator", "compare a compact note with the note", **tags)


def _departures() -> Iterator[object]:
    prompts = [prompt for prompt, _ in notes()]
    for at, (prompt, known) in enumerate(notes()):
        yield departures(known.text, read(prompt))
        yield departures(known.text, read(prompts[at - 40]))


RECORDS: dict[str, Callable[[], Iterator[object]]] = {
    "notes": lambda: iter(notes()),
    "compact notes": lambda: iter(compacts()),
    "findings": lambda: (findings.find(known.text) for _, known in notes()),
    "demographics": lambda: (demographics.find(known.text) for _, known in notes()),
    "spans": lambda: (find_spans(t.text) for _, normal, compact in compacts() for t in (normal, compact)),
    "departures": _departures,
    "annotator's tasks": _annotator_tasks,
    "differences": lambda: (differences(normal.text, compact.text) for _, normal, compact in compacts()),
    "mapped phrases": _mapped,
    "entailment": _judged,
    "judge's tasks": _judge_tasks,
    "answers": _answers,
    "ratings": _ratings,
}


def digest(name: str) -> str:
    """Hash of all replies of one kind."""
    return hashlib.sha256("\n".join(repr(reply) for reply in RECORDS[name]()).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", RECORDS)
def test_replies_are_as_recorded(name: str) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert digest(name) == recorded[name], f"{name} changed; if intended, see the docstring of {__name__}"


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({name: digest(name) for name in RECORDS}, indent=2) + "\n", encoding="utf-8")
