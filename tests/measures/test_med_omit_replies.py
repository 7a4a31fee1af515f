"""Replies about facts: ids, names and grades as models write them are read as meant, or refused with a reason."""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from flows.stages.med_omit import judge_compact
from tasks.llm.calls import Reply
from tasks.llm.prompt_set import use_folder
from tasks.llm.replies import Completion, Unusable, read_reply
from tasks.measures.med_omit.judging import SOURCE, EndOfHistory, truncate_dialogues
from tasks.measures.med_omit.replies import EvidenceClusters, Importances, Mechanisms, Omissions, fact_id
from tasks.texts.document import Document, documents_table
from tests.measures.med_omit_examples import FACTS, MEANT
from tests.measures.test_printed_replies import COMMENT, as_json, put, scored, sent
from tests.support.cases import each
from tests.support.params import shipped
from tests.support.scripted import ScriptedAsk

CONTEXTS = {kind: context for kind, _, context in MEANT}
IDS = {
    "F0": ["F0", "f0", "0", "has a cough for 3 days"],
    "F1": [
        *(" F1 ", "[F1]", "(F1)", "F1.", "F01", "F 1", "Fact 1", "fact F1", "id: F1", "f1: Smokes.", "1: smokes"),
        *("F1 - Smokes.", "Smokes", "F1: smokes a pipe", "-1"),
    ],
    None: [
        *("2 packs", "cough", "F3", "3", "G1", "", "F", "all", "F0, F1", "F0-F2", "3 days of cough"),
        *("F1: No fever.", "1.5"),
    ],
}
"""What models write, by the id that they mean."""


@each("written, name", [(written, name) for name, all_written in IDS.items() for written in all_written])
def test_ids_of_facts(written: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(ValueError, match="is not the id of a fact"):
            fact_id(written, FACTS)
    else:
        assert fact_id(written, FACTS) == name


@each("filler", ["\n", "2\n", "is\n", "claim ", "1: ", "- ", "f ", "facts "])
def test_an_id_is_read_in_linear_time(filler: str) -> None:
    began = time.monotonic()
    with pytest.raises(ValueError, match="is not the id of a fact"):
        fact_id(filler * (60_000 // len(filler)) + "x", FACTS)
    assert time.monotonic() - began < 3


def read(text: str | dict, kind: type[Reply], *, printed: bool = False) -> dict:
    """The fields of a reply to a prompt of ours, or one that asks for the printed form."""
    completion = Completion(text if isinstance(text, str) else json.dumps(text), None, "stop", "m", None)
    found = read_reply(completion, kind, CONTEXTS[kind], is_printed=printed)
    assert found is not None
    return found.model_dump()


def _clusters(*names: str) -> dict:
    return {"clusters": [{"diagnosis": name, "facts": ["f0"]} for name in names]}


def _grades(*pairs: tuple[str, str]) -> dict:
    return {"facts": [{"fact": fact, "category": category} for fact, category in pairs]}


def _groups(*groups: Sequence[str]) -> dict:
    return {"groups": [{"kind": "test", "mechanism": "m", "facts": list(facts)} for facts in groups]}


def _included(*pairs: tuple[object, str]) -> dict:
    return {"facts": [{"fact": fact, "explanation": "", "included": included} for fact, included in pairs]}


READ = [
    (
        Omissions,
        _included(("f0", "No"), ("2: No fever.", "Partly "), ("[F1]", "yes")),
        _included(("F0", "no"), ("F2", "partly"), ("F1", "yes")),
    ),
    (Omissions, {"facts": [{"fact": "F2", "included": "no"}]}, _included(("F2", "no"))),
    (Omissions, _included(("F0", "no"), ("f0", "no")), _included(("F0", "no"), ("F0", "no"))),
    (Omissions, {"facts": []}, {"facts": []}),
    (
        Importances,
        _grades(("F0", "Other"), ("1", "CRITICAL "), ("f2", "important")),
        _grades(("F0", "other"), ("F1", "critical"), ("F2", "important")),
    ),
    (
        EvidenceClusters,
        _clusters("ASTHMA", "COPD"),
        {
            "clusters": [
                {"diagnosis": "asthma", "facts": [{"fact": "F0", "explanation": ""}]},
                {"diagnosis": "copd (first exacerbation)", "facts": [{"fact": "F0", "explanation": ""}]},
            ]
        },
    ),
    (Mechanisms, _groups(["f0", "F1: Smokes."], ["2"]), _groups(["F0", "F1"], ["F2"])),
    (Mechanisms, _groups(["F0", "F1"], ["F1", "F2"]), _groups(["F0", "F1"], ["F1", "F2"])),
    (EndOfHistory, {"last_line": "4"}, {"last_line": 4}),
    (EndOfHistory, {"last_line": 0}, {"last_line": 0}),
    (EndOfHistory, {"last_line": 8}, {"last_line": 8}),
]
REFUSED = [
    (Omissions, _included(("F9", "no")), "'F9' is not the id of a fact; ids are F0, F1, F2"),
    (Omissions, _included(("cough", "no")), "is not the id of a fact"),
    (Omissions, _included(("F0", "mostly")), "'yes', 'partly' or 'no'"),
    (Omissions, _included(("F0", "no"), ("F1", "yes"), ("0", "yes")), "fact 'F0' is listed more than once"),
    (Omissions, {"facts": [{"fact": "F0"}]}, "included"),
    (Importances, _grades(("F0", "other"), ("F1", "other")), "facts F2 are missing"),
    (Importances, _grades(("F0", "other"), ("F1", "minor"), ("F2", "other")), "'critical', 'important' or 'other'"),
    (
        Importances,
        _grades(("F0", "other"), ("F1", "other"), ("F2", "other"), ("F0", "critical")),
        "listed more than once",
    ),
    (EvidenceClusters, _clusters("asthma", "gout"), "'gout' is not a diagnosis of the differential"),
    (EvidenceClusters, _clusters("asthma"), "are missing"),
    (EvidenceClusters, _clusters("asthma", "copd", "Asthma"), "more than once"),
    (Mechanisms, _groups(["F0"], ["F1"]), "facts F2 are missing"),
    (Mechanisms, {"groups": [{"kind": "sign", "mechanism": "m", "facts": [*FACTS]}]}, "'treatment' or 'social'"),
    (Mechanisms, _groups(["F0", "F1", "F2", "F3"]), "'F3' is not the id of a fact"),
    (EndOfHistory, {"last_line": 9}, "line 9 is not in the dialogue, whose lines are 0 to 8"),
    (EndOfHistory, {"last_line": -1}, "line -1 is not in the dialogue"),
]


@each("kind, content, meant", READ)
def test_replies_that_are_read_as_meant(kind: type[Reply], content: dict, meant: dict) -> None:
    assert read(content, kind) == meant


@each("kind, content, reason", REFUSED)
def test_replies_that_are_refused_with_their_reason(kind: type[Reply], content: dict, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        read(content, kind)


printed = partial(read, printed=True)


def included(text: str) -> list[str]:
    return [one["included"] for one in printed(text, Omissions)["facts"]]


def test_omissions_list_what_is_missing_and_an_empty_dictionary_says_that_nothing_is() -> None:
    assert included('{"F1": ["Smokes.", "not said"], "2": ["No fever.", "left out"]}') == [
        "yes",
        "no",
        "no",
    ]
    assert included('```json\n{"F0": "Has a cough for 3 days.",}\n```') == ["no", "yes", "yes"]
    assert included("{}") == ["yes"] * 3
    assert included('{"facts": [{"fact": "F0", "included": "partly"}]}') == ["partly"], "our form is read too"
    with pytest.raises(Unusable, match="facts: Field required"):
        read("{}", Omissions)


def test_categories_are_lines_of_rank_id_and_fact() -> None:
    text = "Category|critical\n1|F1|Smokes.\nCategory|[Important]\n2|0|Has a cough for 3 days.\n\n"
    text += "Category|other\n3|F2|No fever."
    grades = {one["fact"]: one["category"] for one in printed(text, Importances)["facts"]}
    assert grades == {"F1": "critical", "F0": "important", "F2": "other"}
    assert printed(f"Output:\n{text}", Importances) == printed(text, Importances)


def test_evidence_is_a_dictionary_by_diagnosis() -> None:
    clusters = printed('{"Asthma": {"F1": "typical", "0": ""}, "COPD": []}', EvidenceClusters)["clusters"]
    named = {one["diagnosis"]: [fact["fact"] for fact in one["facts"]] for one in clusters}
    assert named == {"asthma": ["F1", "F0"], "copd (first exacerbation)": []}


def test_the_end_of_the_history_is_a_line_with_its_number() -> None:
    assert (
        printed('{7: "[patient] no ."}', EndOfHistory) == printed('{"last_line": 7}', EndOfHistory) == {"last_line": 7}
    )


@each(
    "text, kind, said",
    [
        ('{"F1": ["No fever.", "x"]}', Omissions, "'F1' is given with the text of F2"),
        ('{"F9": ["Pain.", "x"]}', Omissions, "'F9' is not the id of a fact; ids are F0, F1, F2"),
        ("Category|critical\n1|F1|Smokes.", Importances, "facts F0, F2 are missing"),
        ("1|F1|Smokes.\nCategory|critical\n", Importances, "line '1|F1|Smokes.' is no 'rank|id"),
        ("Category|grave\n1|F1|Smokes.", Importances, "Input should be 'critical', 'important' or 'other'"),
        ('{"asthma": {"F1": "x"}}', EvidenceClusters, r"diagnoses 'copd \(first exacerbation\)' are missing"),
        ('{"12": "[doctor] bye ."}', EndOfHistory, "line 12 is not in the dialogue"),
    ],
)
def test_a_reply_that_the_printed_form_does_not_allow_is_refused(text: str, kind: type[Reply], said: str) -> None:
    with pytest.raises(Unusable, match=said.replace("|", r"\|")):
        printed(text, kind)


PRINTED_FACTS = {"F0": "Dry cough.", "F1": "Fever for 3 days.", "F2": "Owns a dog."}
SUPPORTS = '{"influenza": {"F0": "typical", "F1": "typical"}}'


@pytest.fixture
def prompts(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "prompts"
    use_folder(None)


def test_the_end_of_a_history_is_asked_for_in_the_form_of_a_printed_prompt(prompts: Path) -> None:
    put(prompts, med_omit__truncate=f"[user]\n{COMMENT}{{{{ lines }}}}")
    use_folder(prompts)
    ask = ScriptedAsk(lambda _: ValueError("no reply is needed"))
    asyncio.run(truncate_dialogues(ask, {"1": "[doctor] hi"}, 1))
    assert {call.form for call in ask.calls} == {"printed"}


@each("comment", [COMMENT, ""])
def test_med_omit_lists_omissions_categories_and_evidence(prompts: Path, comment: str) -> None:
    lists = "{% for fact in facts %}{{ fact }}\n{% endfor %}"
    diagnoses = "{% for name, likelihood in differential %}{{ name }}: {{ likelihood }}\n{% endfor %}"
    put(
        prompts,
        med_omit__omissions=f"[user]\n{comment}OMITTED {{{{ summary }}}}\n{lists}",
        med_omit__importance=f"[user]\n{comment}RANKED {diagnoses}{lists}",
        med_omit__supports=f"[user]\n{comment}EVIDENCE {diagnoses}{lists}",
    )
    facts = {"medical": list(PRINTED_FACTS.values())[:2], "access_and_social": [PRINTED_FACTS["F2"]], "other": []}
    mechanisms = [{"kind": "symptom", "mechanism": "infection", "facts": ["F0", "F1"]}]
    replies = {
        "list medical facts": as_json(**facts),
        "OMITTED All": "{}",
        "OMITTED": '{"F2": ["Owns a dog.", "not said"]}',
        "RANKED": "Category|critical\n1|F1|Fever for 3 days.\n2|F0|Dry cough.\nCategory|other\n3|F2|Owns a dog.",
        "EVIDENCE": SUPPORTS,
        "find refuting": as_json(clusters=[{"diagnosis": "influenza", "facts": []}]),
        "differential": as_json(diagnoses=[{"diagnosis": "Influenza", "explanation": "", "likelihood": "probable"}]),
        "facts": as_json(**facts),
    }
    replies["mechanism"] = as_json(groups=mechanisms)
    order = ["OMITTED All", "OMITTED", "RANKED", "EVIDENCE", "find refuting", "mechanism", "differential", "facts"]
    documents = [Document("a", ("Source.",), outputs={"short": "Cough, fever.", "long": "All of it."})]
    frames = {"documents": documents_table(documents)}
    chosen = {name: replies[name] for name in order}
    made, endpoint = scored(judge_compact, frames, shipped(), chosen, prompts)
    values = made["verdicts"].set_index(["metric", "system", "unit"]).sort_index()
    assert values.loc[("omitted", "short"), "value"].to_dict() == {"F0": 0, "F1": 0, "F2": 1}
    assert values.loc[("omitted", "long"), "value"].to_dict() == {"F0": 0, "F1": 0, "F2": 0}
    grades = values.loc[("importance", SOURCE)]
    assert grades["verdict"].to_dict() == {"F0": "critical", "F1": "critical", "F2": "other"}
    assert grades["weight"].notna().all(), "supporting and refuting clusters are read"
    assert ("response_format" in sent(endpoint, "RANKED")) is not bool(comment)
