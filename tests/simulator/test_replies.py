"""The simulator's replies equal those of its recorded version, so none changes by accident.

Committed results and stored replies depend on them. After an intended change, review examples of it, then record the
digests with ``python -m tests.simulator.test_replies``.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from tasks.simulator.dispatch import MODELS, complete
from tasks.simulator.request import ChatRequest
from tests.simulator.test_reader import task_prompt
from tests.simulator.test_writer import symptom_prompt

RECORDED = Path(__file__).with_name("replies.json")
SYMPTOMS = ("dyspnea", "cough", "respiratory pain", "fever", "nasal symptoms")
LINES = (
    ("cough: yes, dry", "fever: high", "dyspnea: no"),
    ("cough: yes, purulent", "dyspnea: yes, at night", "respiratory pain: no", "nasal symptoms: no"),
    ("respiratory pain: yes, burning pain in windpipe", "fever: low"),
    ("dyspnea: yes, wheezing", "nasal symptoms: yes"),
    ("respiratory pain: yes, localized on right side", "cough: yes, phlegm", "fever: none"),
    ("cough: no", "fever: none"),
)
CONDITIONS = "The patient has these underlying health conditions:\n- asthma\n- smoking\n\n"
RULES = "\n- Leave out any suspected diagnosis and any assessment section.\n- Do not state the patient's sex or age."
FIXED = {
    "penalties": "- [1A/cough] cough: yes, dry\n- [1B/pain] pain\n- [1C/asthma] asthma\n"
    "- [1C/other_1] other\n- [2A/fever] fever\n"
    "- [1D/sex_or_age] sex or age\n- [1D/diagnosis] diagnosis\n- [1D/further_symptom] further symptom",
    "differential": "asthma exacerbation: probable\npneumonia: possible\nbronchitis: unlikely",
    "diagnosis": "pneumonia",
    "choices": "A: Fever at first, then no fever.\nB: as worse at night\nC: 2024-01-02\n"
    "D: The notes do not tell.\nE: asthma",
    "day": "At the visit of 2024-01-02.",
    "absence": "The fever is absent.",
}
TASKS = """
annotator | check a clinical note for consistency | note instructions
annotator | check a clinical note for consistency | note instructions=other
annotator | compare a compact note with the note | note compact
annotator | map phrases to the compact note | note compact phrases
annotator | correct phrases to the words of the note | note=compact phrases
annotator | write a question about a patient's notes | notes
judge | judge a claim with reasons | text=compact claim
judge | judge claims in json with reasons | text=note claims=turned
judge | judge citations | statement sentences=cited
judge | find omitted facts | summary=compact facts
judge | give a differential diagnosis | text=note
judge | list facts | text=note
judge | grade the importance of facts | facts differential
judge | find supporting facts | facts differential
judge | find refuting facts | facts differential
judge | group facts by mechanism | facts diagnosis
judge | rate a clinical note | note compact prompt penalties
writer | write a cited compact note | note=cited
"""
"""Model, task, and the blocks of the prompt, each with the name of its text where that differs."""
ANSWERING = """
answerer | answer a question from notes | notes question
answerer | answer a multiple-choice question | notes question choices
annotator | write answer choices | notes question
judge | judge an answer | question right=day output=absence
judge | judge an answer | question right=absence output=day
"""
QUESTIONS = (
    "At which of the visits did the patient have a cough?",
    "How did the fever change?",
    "How is the dyspnea described?",
    "Which medicine does the note charted on 2024-01-02 mention?",
    "Does the patient have fever or nasal symptoms?",
)


class Replies:
    """Replies of the simulator, by model."""

    def __init__(self) -> None:
        self.given: dict[str, list[str]] = {model: [] for model in MODELS}

    def ask(self, model: str, *messages: tuple[str, str], seed: int = 0) -> str:
        asked = ChatRequest(f"vignette-{model}", messages, seed)
        self.given[asked.model].append(complete(asked))
        return self.given[asked.model][-1]

    def ask_all(self, table: str, texts: dict[str, str]) -> None:
        for model, task, blocks in (line.split(" | ") for line in table.strip().splitlines()):
            named = (block.split("=") for block in blocks.split())
            self.ask(model, ("user", task_prompt(task, {names[0]: texts[names[-1]] for names in named})))


def prompts() -> Iterator[str]:
    for lines in LINES:
        asked = {line.split(":")[0] for line in lines}
        prompt = symptom_prompt(*lines, avoid=tuple(name for name in SYMPTOMS if name not in asked)) + RULES
        yield from (prompt, prompt.replace("Lay the note", CONDITIONS + "Lay the note"))
    yield "Task: write three clinical notes\n\n" + CONDITIONS


def digests() -> dict[str, str]:
    """Hashes of the replies of each model."""
    replies, before = Replies(), ("", "")
    for at, prompt in enumerate(prompts()):
        model = ("writer", "writer-calibration")[at % 2]
        note = replies.ask(model, ("user", prompt), seed=at)
        said = (("user", prompt), ("assistant", note), ("user", "Task: write the compact version"))
        compact = replies.ask(model, *said, seed=at)
        found = json.loads(replies.ask("annotator", ("user", task_prompt("extract symptom spans", {"note": note}))))
        claims = json.loads(replies.ask("judge", ("user", task_prompt("list subclaims", {"text": note}))))["claims"]
        numbered = "\n".join(f"{number}. {claim}" for number, claim in enumerate(claims))
        days = zip(("2024-01-02", "2024-03-04"), (note, before[1]), strict=True)
        notes = "\n".join(f"<note>\nPatient: 1\nNote: 1\nDate: {day}\n\n{text}\n</note>" for day, text in days)
        texts = FIXED | {"note": note, "compact": compact, "prompt": prompt, "notes": notes}
        texts |= {"instructions": prompt.replace(RULES, ""), "other": before[0].replace(RULES, "")}
        texts |= {
            "claim": claims[-1],
            "numbered": numbered,
            "turned": numbered.replace("no ", ""),
            "statement": compact[12:90],
        }
        texts["facts"] = "\n".join(f"F{number}: {claim}" for number, claim in enumerate(claims))
        texts["cited"] = "\n".join(f"[{number}] {claim}" for number, claim in enumerate(claims))
        texts["phrases"] = json.dumps([span["text"] for span in found["spans"]])
        replies.ask_all(TASKS, texts)
        for question in QUESTIONS:
            replies.ask_all(ANSWERING, texts | {"question": question})
        before = (prompt, note)
    return {name: hashlib.sha256("\n".join(given).encode()).hexdigest()[:16] for name, given in replies.given.items()}


def test_replies_are_as_recorded() -> None:
    changed = digests().items() ^ json.loads(RECORDED.read_text(encoding="utf-8")).items()
    assert not changed, f"if intended, see the docstring of {__name__}"


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(digests(), indent=2) + "\n", encoding="utf-8")
