"""Evaluators: four prompt styles, NLI models by folder, and failed replies."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from schemas.errors import ParamsError, SourceError
from schemas.params.doclens import DocLens
from tasks.evaluation.doclens.citation_score import citation_precision, citation_recall, necessary_citations
from tasks.evaluation.doclens.citations import (
    Statement,
    judge_citations,
    judge_citations_in_one_call,
    number_sentences,
)
from tasks.evaluation.doclens.cited_outputs import write_cited, write_cited_by_section
from tasks.evaluation.doclens.evaluators import EmbeddedEvaluator, InstructionEvaluator, NliEvaluator, Question
from tasks.evaluation.doclens.judging import Pair, judge_claims
from tasks.evaluation.doclens.metrics import metric_rows
from tasks.evaluation.doclens.setup import citation_condition, condition, make_evaluator, writer_examples
from tasks.evaluation.doclens.subclaims import Limits, list_subclaims
from tasks.llm.calls import Answer, Call
from tests.support.direct import DirectAsk
from tests.support.nli import WORDS, save_classifier, save_true_style

NOTE = "PHYSICAL EXAM\n\nLungs: Clear bilaterally, no wheezes. Right knee: Mild swelling."
CLAIMS = ("The lungs are clear.", "The left knee is swollen.", "There is no wheeze.", "The patient has wheezing.")
QUESTION = Question("1/all", NOTE, CLAIMS)


class Replies:
    """An `Ask` with fixed replies."""

    label = "fixed"

    def __init__(self, *texts: str | None) -> None:
        self.texts, self.calls = list(texts), []

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        self.calls += calls
        return [
            Answer(c.key, text=t) if t is not None else Answer(c.key, failure="refused")
            for c, t in zip(calls, self.texts, strict=True)
        ]


@pytest.mark.parametrize("style", ["plain", "json", "cot", "json_cot"])
def test_every_style_reaches_the_same_judgements(style: str) -> None:
    verdicts = asyncio.run(InstructionEvaluator(DirectAsk(), style)([QUESTION]))  # type: ignore[arg-type]
    assert verdicts[0].judgements == (True, False, True, False)
    assert verdicts[0].failure is None


@pytest.mark.parametrize("examples", [0, 1, 2])
def test_examples_are_in_the_prompt(examples: int) -> None:
    ask = Replies("1: 1\n2: 0\n3: 1\n4: 0")
    asyncio.run(InstructionEvaluator(ask, "plain", examples)([QUESTION]))
    text = ask.calls[0].messages[-1].content
    assert text.startswith("Task: judge claims\n")
    assert text.count("heart murmur") == min(examples, 1)
    assert text.count("heart rate is fast") == (1 if examples == 2 else 0)


def test_a_claim_that_a_question_repeats_is_judged_once() -> None:
    ask = Replies("1: 1\n2: 0")
    repeated = Question("1/all", NOTE, (CLAIMS[0], CLAIMS[1], CLAIMS[0]))
    [verdicts] = asyncio.run(InstructionEvaluator(ask, "plain")([repeated]))
    assert verdicts.judgements == (True, False, True)
    assert ask.calls[0].messages[-1].content.count(CLAIMS[0]) == 1


def test_missing_verdict_and_failed_call_are_none_with_a_reason() -> None:
    some, none = asyncio.run(InstructionEvaluator(Replies("1: 1\n3: 0", None), "plain")([QUESTION, QUESTION]))
    assert some.judgements == (True, None, False, None)
    assert some.failure == "2 of 4 claims without a verdict"
    assert none.judgements == (None,) * 4
    assert none.failure == "refused"


def test_empty_premise_entails_nothing_without_a_call() -> None:
    ask = Replies()
    verdicts = asyncio.run(InstructionEvaluator(ask)([Question("1", " \n", CLAIMS)]))
    assert verdicts[0].judgements == (False,) * 4
    assert ask.calls == []


def test_embedded_rules_need_no_endpoint() -> None:
    assert asyncio.run(EmbeddedEvaluator()([QUESTION]))[0].judgements == (True, False, True, False)


def test_nli_evaluator_asks_every_pair_of_every_question() -> None:
    class Longer:
        label = "longer"

        def entail(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
            return [len(premise) > len(hypothesis) for premise, hypothesis in pairs]

    questions = [Question("a", "long premise", ("short", "a very long hypothesis")), Question("b", "", ("x",))]
    first, second = asyncio.run(NliEvaluator(Longer())(questions))
    assert first.judgements == (True, False)
    assert second.judgements == (False,)


def test_nli_without_a_model_is_refused() -> None:
    with pytest.raises(ParamsError, match="nli_model"):
        make_evaluator(DocLens(evaluator="nli"), DirectAsk())


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_classifier(tmp_path_factory.mktemp("nli"))


def test_nli_model_answers_alike_in_any_batch(classifier: Path) -> None:
    from tasks.encoder.nli import load_nli

    pairs = [("the lungs are clear", "no wheeze"), ("knee " * 60, "the knee"), ("no", "no wheeze"), ("the", "lungs")]
    one, many = load_nli(str(classifier), batch=1), load_nli(str(classifier), batch=3)
    assert one.entailing == 2
    assert one.entail(pairs) == many.entail(pairs)
    assert many.entail(list(reversed(pairs))) == list(reversed(many.entail(pairs)))
    assert one.entail([]) == []


def test_true_style_model_answers_alike_in_any_batch_and_never_loses_the_question(tmp_path: Path) -> None:
    from tasks.encoder.nli import load_nli

    pairs = [("the lungs are clear", "no wheeze"), ("knee " * 200, "the knee"), ("no", "no wheeze")]
    one, many = (load_nli(str(save_true_style(tmp_path / "true")), batch=batch) for batch in (1, 3))
    many.model.load_state_dict(one.model.state_dict())
    assert one.entailing is None
    assert one.entail(pairs) == many.entail(pairs)
    assert len(one.tokenizer(one._cut(*pairs[1]))["input_ids"]) <= 64
    one.model.generate = lambda input_ids, **_: [[WORDS.index("1")] if 7 in row else [0] for row in input_ids.tolist()]
    assert one.entail(pairs) == [True, False, False]  # "1" where the premise is clear, anything else is no


def test_nli_model_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    from tasks.encoder.nli import load_nli

    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SourceError, match="could not be loaded"):
        load_nli(str(tmp_path))


def test_the_device_is_the_cpu_unless_a_gpu_is_asked_for_and_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from tasks.encoder.nli import load_nli

    place = str(save_classifier(tmp_path / "pairs"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert load_nli(place, device="auto").model.device.type == "cpu"
    with pytest.raises(ParamsError, match=r"nli_device is cuda, but torch .* finds no GPU; set doclens.nli_device"):
        load_nli(place, device="cuda")
    moved: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.nn.Module, "to", lambda self, device: moved.append(device) or self)
    load_nli(place)
    load_nli(place, device="auto")
    assert moved == ["cpu", "cuda"]


def test_subclaims_are_single_clauses_and_failures_have_a_reason() -> None:
    found = asyncio.run(list_subclaims(DirectAsk(), {"a": "He coughs, but he has no fever.\nLungs: clear.", "b": " "}))
    assert found["a"].claims == ("He coughs", "he has no fever.", "Lungs: clear.")
    assert found["b"].claims == ()
    assert found["b"].failure is None
    assert asyncio.run(list_subclaims(Replies(None), {"a": "He coughs."}))["a"].failure == "refused"


def test_subclaims_are_asked_for_until_the_text_is_covered() -> None:
    text = ". ".join(f"He has pain number {n}" for n in range(7)) + "."
    whole = asyncio.run(list_subclaims(DirectAsk(), {"a": text}))["a"]
    ask = DirectAsk()
    found = asyncio.run(list_subclaims(ask, {"a": text}, Limits(claims=3, rounds=4)))["a"]
    assert found.claims == whole.claims and len(found.claims) == 7 and not found.more
    cut = asyncio.run(list_subclaims(DirectAsk(), {"a": text}, Limits(claims=3, rounds=2)))["a"]
    assert cut.claims == whole.claims[:6] and cut.more and cut.failure is None


def test_claims_beyond_the_limit_are_counted_with_the_metric() -> None:
    note = ". ".join(f"He has pain number {n}" for n in range(7)) + "."
    pair = Pair("1", "s", note, "He has pain number 1.", precision=False)
    limits = Limits(claims=3, rounds=2)
    judged = asyncio.run(judge_claims(DirectAsk(), EmbeddedEvaluator(), [pair], condition="c", limits=limits))
    rows = metric_rows(judged.table, seed=1, provenance="p").set_index("metric")
    assert rows.loc["claim_recall", "unscored"] == 1 and rows.loc["claim_recall_pooled", "n"] == 6
    assert "doclens.claim_rounds" in (judged.unscored[0]["reason"] or "")


def test_statements_with_the_same_citations_are_judged_in_one_call_each_by_itself() -> None:
    ask = Replies("1: 1\n2: 0")
    statements = [Statement("He has a cough.", (1,)), Statement("He has a fever.", (1,))]
    evaluator = InstructionEvaluator(ask, "plain")
    outputs, _ = asyncio.run(judge_citations(evaluator, {"a": statements}, {"a": SOURCE}))
    assert len(ask.calls) == 1
    assert [one.supported for one in outputs["a"]] == [True, False]


SOURCE = ("History", "The patient has a dry cough.", "He smokes.", "The lungs are clear on both sides.")


def test_citations_are_judged_by_the_definition() -> None:
    statements = [
        Statement("Dry cough.", (1,)),  # right
        Statement("Lungs clear.", (3, 2)),  # redundant 2
        Statement("He smokes.", (3,)),  # wrong
        Statement("Dry cough and lungs clear.", (1, 3)),  # both needed
        Statement("He has a fever.", (9,)),  # no such sentence
    ]
    judged, failures = asyncio.run(judge_citations(EmbeddedEvaluator(), {"a": statements}, {"a": SOURCE}))
    assert failures == []
    assert [one.supported for one in judged["a"]] == [True, True, False, True, False]
    assert citation_recall([one.supported for one in judged["a"]]) == pytest.approx(3 / 5)
    assert citation_precision([found for one in judged["a"] for found in necessary_citations(one)]) == pytest.approx(
        4 / 7
    )


def test_one_call_names_the_supporting_citations() -> None:
    statements = [Statement("Lungs clear.", (3, 2)), Statement("He has a fever.", (9,))]
    judged, failures = asyncio.run(judge_citations_in_one_call(DirectAsk(), {"a": statements}, {"a": SOURCE}))
    assert failures == []
    assert [(supported, named) for supported, _, named in judged["a"]] == [(True, (3,)), (False, ())]


def test_writer_cites_numbered_sentences() -> None:
    ask = DirectAsk("vignette-writer")
    written, unscored = asyncio.run(write_cited(ask, "cited_compact", {"a": SOURCE}))
    assert unscored == []
    assert "[1]" in written["a"]
    assert number_sentences(SOURCE[:2]) == "[0] History\n[1] The patient has a dry cough."


def test_notes_of_dialogues_are_written_whole_and_by_section() -> None:
    turns = ("[doctor] how are you ?", "[patient] i have had a bad cough for three weeks now .")
    ask = DirectAsk("vignette-writer")
    whole, _ = asyncio.run(write_cited(ask, "cited_note", {"a": turns}, section="full"))
    sections, _ = asyncio.run(write_cited_by_section(ask, {"a": turns}))
    assert whole["a"].startswith("SUBJECTIVE")
    assert set(sections["a"]) == {"subjective"}


@pytest.mark.parametrize("prompt", ["cited_compact", "cited_note", "cited_question"])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_in_context_examples_of_the_writer(prompt: str, count: int) -> None:
    examples = writer_examples(prompt, count)
    assert len(examples) == count
    assert all("[0]" in example.source and "[" in example.output for example in examples)


class Written:
    """A model that writes one text for each section named in the prompt, in order."""

    label = "m"

    def __init__(self, *texts: str) -> None:
        self.texts = iter(texts)

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        text = next(self.texts)
        return [Answer(one.key, text=text) if text else Answer(one.key, failure="timeout") for one in calls]


def test_sections_without_text_below_their_heading_are_left_out_and_failures_name_their_section() -> None:
    ask = Written("SUBJECTIVE\n\nCough [0].", "PHYSICAL EXAM\n", "", "ASSESSMENT AND PLAN\n\nRest [0].")
    notes, unscored = asyncio.run(write_cited_by_section(ask, {"a": ("cough",)}))  # type: ignore[arg-type]
    assert list(notes["a"]) == ["subjective", "assessment_and_plan"]
    assert [(row["record"], row["reason"]) for row in unscored] == [("a", "timeout")]
    assert str(unscored[0]["step"]).startswith("cited_note/objective")


def test_a_sentence_just_behind_the_last_one_is_not_cited() -> None:
    statements = [Statement("The lungs are clear on both sides.", (len(SOURCE),))]
    judged, failures = asyncio.run(judge_citations(EmbeddedEvaluator(), {"a": statements}, {"a": SOURCE}))
    assert failures == [] and [one.supported for one in judged["a"]] == [False]
    judged_once, failures = asyncio.run(judge_citations_in_one_call(DirectAsk(), {"a": statements}, {"a": SOURCE}))
    assert failures == [] and judged_once["a"][0][0] is False


def test_the_condition_names_evaluator_and_citation_protocol() -> None:
    def names(**given: object) -> tuple[str, str]:
        params = DocLens.model_validate(given)
        return condition(params), citation_condition(params)

    assert names(evaluator="instruction", style="plain", citations="one_call") == ("plain", "plain, one call")
    assert names(evaluator="instruction", style="plain", citations="definition") == ("plain", "plain")
    assert names(evaluator="nli", nli_model="m/n", citations="definition") == ("m/n", "m/n")
