"""A prompt as a paper prints it, in a user's folder: an endpoint replies in the printed form, and the stage scores all.

The prompts and replies are ours; of the papers they have the form.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from flows.runtime.chunks import Frames
from flows.stages.span import span_chunk
from schemas.errors import ParamsError
from schemas.params import Params
from schemas.params.measures import NoteQa
from schemas.tables.note_qa import LETTERS
from tasks.llm.calls import Asks, Call, Message, Reply
from tasks.llm.printed import in_users_form
from tasks.llm.prompt_set import use_folder
from tasks.llm.replies import Completion, Unusable, read_reply
from tasks.measures.doclens.evaluators import ClaimVerdicts, ExplainedVerdicts
from tasks.measures.doclens.judging import Plan, judge
from tasks.measures.note_qa.questions import write_questions
from tasks.spans.annotation import CorrectReply, MapReply
from tasks.texts.document import WHOLE, Document
from tasks.transport.store import ResponseStore
from tests.golden.requests import LAYOUTS, PATIENT
from tests.support.cases import each
from tests.support.endpoints import asker
from tests.support.hosted import Hosted, completion, hosted
from tests.support.params import shipped
from tests.support.records import records_of
from tests.support.scenarios import ROLE, fingerprint

CLAIMS = ("He coughs.", "Temperature < 38.", "Temperature > 38.")
CONTEXTS: dict[type[Reply], dict] = {
    ClaimVerdicts: {"claims": 3, "texts": CLAIMS},
    ExplainedVerdicts: {"claims": 3, "texts": CLAIMS},
}


def read(text: str, kind: type[Reply], *, printed: bool = True) -> dict:
    """The fields of a reply to a prompt that asks for the printed form, or for ours."""
    found = read_reply(Completion(text, None, "stop", "m", None), kind, CONTEXTS.get(kind), is_printed=printed)
    assert found is not None
    return found.model_dump()


@each("kind", [ClaimVerdicts, ExplainedVerdicts])
def test_verdicts_name_the_claim_by_its_text(kind: type[Reply]) -> None:
    entries = [{"claim": claim, "explanation": "so", "entailment prediction": int("<" in claim)} for claim in CLAIMS]
    entries[0]["claim"] = "he coughs"
    verdicts = read(json.dumps(entries[::-1]), kind)["verdicts"]
    assert {one["claim"]: one["entailed"] for one in verdicts} == {1: 0, 2: 1, 3: 0}
    assert read(str(entries), kind)["verdicts"] == verdicts[::-1], "single quotes"


@each("kind, field", [(MapReply, "pairs"), (CorrectReply, "corrections")])
def test_dictionaries_of_phrases_are_pairs(kind: type[Reply], field: str) -> None:
    pairs = read('{"No cough": "ø cough", "Some fever": "‘’", "Afebrile": null}', kind)[field]
    assert [tuple(pair.values()) for pair in pairs] == [("No cough", "ø cough"), ("Some fever", ""), ("Afebrile", "")]


@each(
    "text, kind, said",
    [
        ('[{"claim": "He sneezes.", "entailment prediction": 1}]', ClaimVerdicts, "'He sneezes.' is not one of"),
        (
            '[{"claim": "Temperature 38.", "entailment prediction": 1}]',
            ClaimVerdicts,
            "'Temperature 38.' is not one of",
        ),
        ('[{"claim": "He coughs.", "entailment prediction": 2}]', ClaimVerdicts, "less than or equal to 1"),
        ('{"No cough": ["ø", "cough"]}', MapReply, "pairs: Field required"),
    ],
)
def test_a_reply_that_the_printed_form_does_not_allow_is_refused(text: str, kind: type[Reply], said: str) -> None:
    with pytest.raises(Unusable) as caught:
        read(text, kind)
    assert said in str(caught.value)


# a printed prompt of each paper, an endpoint, and the stage

Work = Callable[[Frames, Asks, Params], Awaitable[Frames]]
COMMENT = "{# reply: printed #}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "prompts"
    use_folder(None)


def put(folder: Path, **prompts: str) -> None:
    """Write a prompt to ``ROOM/NAME.txt`` for each ``ROOM__NAME``."""
    for name, text in prompts.items():
        file = folder.joinpath(*name.split("__")).with_suffix(".txt")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def scored(work: Work, frames: Frames, params: Params, replies: dict[str, str], folder: Path) -> tuple[Frames, Hosted]:
    """The tables of a stage's function, of an endpoint that replies by words of the last message; all is scored."""

    def reply(body: dict, _: int) -> dict:
        last = body["messages"][-1]["content"]
        return completion(next((text for words, text in replies.items() if words in last), "ok"), body)

    async def run(base_url: str) -> Frames:
        role = ROLE.model_copy(update={"base_url": base_url, "structured": "json_object", "reasks": 0})
        with ResponseStore(folder.parent / "responses.sqlite") as store:
            async with asker(store, base_url, role=role, fingerprint=fingerprint(base_url)) as ask:
                return await work(frames, lambda _: ask, params)

    use_folder(folder)  # only now: loading params.yaml takes its folder
    with hosted(reply) as endpoint:
        made = asyncio.run(run(endpoint.base_url))
    assert made["unscored"].empty, made["unscored"].to_dict("records")
    return made, endpoint


def sent(endpoint: Hosted, words: str) -> dict:
    """The request whose last message has these words."""
    return next(body for body in endpoint.bodies if words in body["messages"][-1]["content"])


def as_json(**fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False)


def test_simsum_matches_phrases_by_dictionaries(folder: Path) -> None:
    put(
        folder,
        spans__map=f"[system]\n{COMMENT}Match phrases. Reply with a dictionary.\n[user]\n"
        "MATCH {{ phrases | json }} {{ note }} {{ compact }}",
        spans__correct=f"[user]\n{COMMENT}CORRECT {{{{ note }}}} {{{{ phrases | json }}}}",
    )
    replies = {
        "extract symptom": as_json(spans=[{"symptom": "cough", "text": "dry coughs"}]),
        "CORRECT": '{"dry coughs": "a dry cough"}',
        "MATCH": '{"a dry cough": "Dry cough"}',
        "mapped phrases": '{"a dry cough": "Dry cough"}',
        "": as_json(assertions=[{"number": n, "assertion": "present"} for n in (1, 2)]),
    }
    frames = {
        "records": records_of({"cough": "yes"}),
        "notes": pd.DataFrame({"record": [0], "note": ["He has a dry cough."]}),
        "compact_notes": pd.DataFrame({"record": [0], "compact": ["Dry cough."]}),
    }
    made, endpoint = scored(span_chunk, frames, shipped(), replies, folder)
    assert sorted(made["spans"]["text"]) == ["Dry cough", "a dry cough"]
    for words in ("MATCH", "CORRECT", "mapped phrases"):
        body = sent(endpoint, words)
        assert "response_format" not in body and "JSON schema" not in str(body["messages"]), "the user's words alone"
    assert "response_format" in sent(endpoint, "extract symptom")


@each("style", ["json", "json_cot"])
def test_doclens_judges_claims_by_their_text(folder: Path, style: str) -> None:
    prompt = f"[user]\n{COMMENT}ENTAILED {{{{ premise | json }}}} {{{{ claims | json }}}}"
    put(folder, **{f"doclens__entail_{style}": prompt})
    verdicts = [{"claim": claim, "entailment prediction": int(claim != CLAIMS[2])} for claim in CLAIMS]
    if style == "json_cot":
        verdicts = [{**one, "explanation": "as it says"} for one in verdicts]
    params = shipped(doclens={"style": style})
    documents = [Document("a", ("Source.",), reference="Ref.", outputs={"m": "Out."}, claims={WHOLE: CLAIMS})]

    async def work(_: Frames, asks: Asks, params: Params) -> Frames:
        return dict(await judge(asks("judge"), documents, Plan(precision=False), params.doclens))

    made, endpoint = scored(work, {}, params, {"ENTAILED": json.dumps(verdicts)}, folder)
    judged = made["verdicts"].sort_values("unit")
    assert judged["value"].tolist() == [1, 1, 0]
    assert judged["reason"].notna().all() == (style == "json_cot")
    assert "response_format" not in sent(endpoint, "ENTAILED")


def test_ehrnoteqa_writes_a_question_and_its_choices_in_two_steps(folder: Path) -> None:
    steps = {"question": "ASKED {{ notes }}", "choices": "CHOICES {{ notes }} {{ question }}"}
    put(folder, **{f"note_qa__paper_{step}": f"[user]\n{text}" for step, text in steps.items()})
    params = shipped().model_copy(update={"note_qa": NoteQa(protocol="paper")})
    replies = {"CHOICES": LAYOUTS["choices"], "ASKED": LAYOUTS["question"]}
    made, endpoint = scored(write_questions, {"patients": PATIENT}, params, replies, folder)
    (row,) = made["questions"].itertuples()
    assert row.wording == "What cough did the patient have?"
    assert json.loads(row.choices)[LETTERS.index(row.answer)] == "A dry cough"
    assert "response_format" not in sent(endpoint, "ASKED") and "response_format" not in sent(endpoint, "CHOICES")


def test_a_comment_that_names_another_form_is_an_error_and_prompts_of_ours_are_left_alone(folder: Path) -> None:
    call = Call("1/map", (Message("user", "?"),), MapReply)
    assert in_users_form(call, "tasks.spans", "map") is call
    put(folder, spans__map="[user]\n{# reply: print #}{{ note }} {{ compact }} {{ phrases }}")
    use_folder(folder)
    with pytest.raises(ParamsError, match=r"prompt spans/map: reply: print is no form of a reply; expected"):
        in_users_form(call, "tasks.spans", "map")
