"""DocLens on documents: evaluators, claims, citations, cited texts of the writer, generated notes and summaries."""

import asyncio
import json
from collections.abc import Awaitable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flows.repository.params import load_params
from flows.repository.pipeline import stage_function
from flows.runtime.sources import SOURCE_FINGERPRINTS
from flows.runtime.tables import check
from schemas.errors import ParamsError, SourceError
from schemas.params.measures import DocLens, Summaries
from schemas.tables.columns import typed
from schemas.tables.evaluation import CITED_OUTPUTS
from schemas.tables.metrics import METRICS
from schemas.tables.verdicts import VERDICTS
from tasks.domains.rules import rules_of
from tasks.measures.doclens.citations import (
    Statement,
    judge_citations,
    judge_citations_in_one_call,
)
from tasks.measures.doclens.documents import Task, judge_notes, read_tasks, sample
from tasks.measures.doclens.evaluators import (
    UNKNOWN,
    InstructionEvaluator,
    NliEvaluator,
    Question,
    SimulatorEvaluator,
    make_evaluator,
    provenance,
)
from tasks.measures.doclens.judging import GRADED, NAME, Plan, judge, write_and_judge
from tasks.measures.doclens.judging import METRICS as SHARES
from tasks.measures.doclens.subclaims import list_subclaims
from tasks.measures.doclens.writing import write_outputs, writer
from tasks.measures.measure import Metrics, figures
from tasks.measures.measure import scores as verdict_scores
from tasks.texts.document import Document, Tables
from tests.support.cases import each
from tests.support.imports import ROOT
from tests.support.memory_stage import MemoryStage
from tests.support.nli import save_classifier
from tests.support.scripted import DirectAsk, ScriptedAsk, as_reply

NOTE = "PHYSICAL EXAM\n\nLungs: Clear bilaterally, no wheezes. Right knee: Mild swelling."
CLAIMS_OF_NOTE = (
    "The lungs are clear.",
    "The left knee is swollen.",
    "There is no wheeze.",
    "The patient has wheezing.",
)
QUESTION = Question("1/all", NOTE, CLAIMS_OF_NOTE)
SOURCE = ("History", "The patient has a dry cough.", "He smokes.", "Both lungs are clear.")
PAINS = ". ".join(f"He has pain number {n}" for n in range(7)) + "."
RULES = rules_of("respiratory")
WRITER, JUDGE = DirectAsk("vignette-writer"), DirectAsk()


def replies(*texts: str | None) -> ScriptedAsk:
    """Fixed replies in turn; None is a failure."""
    rest = iter(texts)
    return ScriptedAsk(lambda _: text if (text := next(rest)) is not None else ValueError("refused"))


def run(work: Awaitable[Any]) -> Any:
    async def wait() -> Any:
        return await work

    return asyncio.run(wait())


def scores(judged: pd.DataFrame, metrics: Metrics = SHARES) -> dict[tuple[str, str], float]:
    found = verdict_scores(judged, metrics)
    return dict(zip(zip(found["system"], found["metric"], strict=True), found["value"], strict=True))


# evaluators


def test_a_claim_found_in_part_counts_half_in_degrees_and_not_at_all_otherwise() -> None:
    extents = ("whole", "part", "none")
    given = [{"claim": n, "explanation": "said.", "extent": one} for n, one in enumerate(extents, 1)]
    listed, judged = json.dumps({"claims": list(CLAIMS_OF_NOTE[:3])}), json.dumps({"verdicts": given})
    ask = ScriptedAsk(lambda call: as_reply(call, listed if "list subclaims" in call.messages[-1].content else judged))
    document = Document("1", ("A source.",), "A reference.", outputs={"a": NOTE, "empty": ""}, heading="Lungs")
    made = run(judge(ask, [document], Plan(), DocLens(style="graded")))
    assert all('under the heading "Lungs"' in call.messages[-1].content for call in ask.calls)
    found = scores(made["verdicts"], {**SHARES, **GRADED})
    assert found["a", "claim_recall"] == pytest.approx(1 / 3) and found["a", "claim_recall_graded"] == 0.5
    assert found["empty", "claim_recall"] == found["empty", "claim_recall_graded"] == 0, "asked of nobody"
    rows = figures(made["verdicts"], GRADED, stage=NAME, seed=0, provenance="x").set_index(["system", "metric"])
    assert rows.loc[("a", "claim_precision_graded_pooled"), ["value", "n"]].tolist() == [0.5, 3]


def test_a_claim_that_a_question_repeats_is_judged_once() -> None:
    ask = replies("1: 1\n2: 0")
    first, second, *_ = CLAIMS_OF_NOTE
    (verdicts,) = run(InstructionEvaluator(ask, "plain")([Question("1/all", NOTE, (first, second, first))]))
    assert verdicts.judgements == (True, False, True)
    assert ask.calls[0].messages[-1].content.count(first) == 1


def test_missing_verdict_and_failed_call_are_none_with_a_reason() -> None:
    some, none = run(InstructionEvaluator(replies("1: 1\n3: 0", None), "plain")([QUESTION, QUESTION]))
    assert (some.judgements, some.failure) == ((True, None, False, None), "2 of 4 claims without a verdict")
    assert (none.judgements, none.failure) == ((None,) * 4, "refused")


@each(
    "style, size, held",
    [
        ("plain", 20, [4]),
        ("json", 20, [4]),
        ("json", 3, [3, 1]),
        ("json_cot", 20, [4]),
        ("graded", 2, [2, 2]),
        ("cot", 20, [1] * 4),
    ],
)
def test_every_style_reaches_the_judgements_of_the_rules_in_calls_of_so_many_claims(
    style: str, size: int, held: list[int]
) -> None:
    ask = DirectAsk()
    evaluator = make_evaluator(DocLens(style=style, claims_a_call=size), ask)  # type: ignore[arg-type]
    (found,) = run(evaluator([QUESTION]))
    shown = [[claim for claim in CLAIMS_OF_NOTE if claim in call.messages[-1].content] for call in ask.calls]
    assert [len(claims) for claims in shown] == held and [one for claims in shown for one in claims] == list(
        CLAIMS_OF_NOTE
    )
    assert len({call.key for call in ask.calls}) == len(held)
    assert found.judgements == (True, False, True, False) == run(SimulatorEvaluator()([QUESTION]))[0].judgements
    assert found.failure is None


def test_a_failed_call_leaves_the_other_claims_of_its_text_judged() -> None:
    some = replies(
        "explanation: a.\nentailment prediction: 1", None, "explanation: so.\nentailment prediction: 0", None
    )
    (found,) = run(InstructionEvaluator(some, "cot")([QUESTION]))
    assert found.units == ((True, "a.", None), UNKNOWN, (False, "so.", None), UNKNOWN)
    assert found.failure == "refused"


def test_empty_premise_entails_nothing_without_a_call() -> None:
    ask = replies()
    (verdicts,) = run(InstructionEvaluator(ask)([Question("1", " \n", CLAIMS_OF_NOTE)]))
    assert verdicts.judgements == (False,) * 4 and ask.calls == []


def test_nli_evaluator_asks_every_pair_of_every_question() -> None:
    longer = SimpleNamespace(label="longer", entail=lambda pairs: [len(text) > len(claim) for text, claim in pairs])
    questions = [Question("a", "long premise", ("short", "a very long hypothesis")), Question("b", "", ("x",))]
    assert [one.judgements for one in run(NliEvaluator(longer)(questions))] == [(True, False), (False,)]
    with pytest.raises(ParamsError, match="nli_model"):
        make_evaluator(DocLens(evaluator="nli"), DirectAsk())


# claims


def test_subclaims_are_listed_and_empty_texts_have_none() -> None:
    found = run(
        list_subclaims(DirectAsk(), {"a": "He coughs, but he has no fever.\nLungs: clear.", "b": " "}, DocLens())
    )
    assert found["a"].claims == ("He coughs", "he has no fever.", "Lungs: clear.")
    assert found["b"].claims == () and found["b"].failure is None
    assert run(list_subclaims(replies(None), {"a": "He coughs."}, DocLens()))["a"].failure == "refused"


def test_subclaims_are_asked_for_until_the_text_is_covered() -> None:
    whole = run(list_subclaims(DirectAsk(), {"a": PAINS}, DocLens()))["a"]
    found = run(list_subclaims(DirectAsk(), {"a": PAINS}, DocLens(claims_a_reply=3, claim_rounds=4)))["a"]
    assert found.claims == whole.claims and len(found.claims) == 7 and not found.more
    cut = run(list_subclaims(DirectAsk(), {"a": PAINS}, DocLens(claims_a_reply=3, claim_rounds=2)))["a"]
    assert cut.claims == whole.claims[:6] and cut.more and cut.failure is None


def test_claims_beyond_the_limit_are_counted_with_the_metric() -> None:
    document = Document("1", (PAINS,), PAINS, outputs={"s": "He has pain number 1."})
    params = DocLens(evaluator="simulator", claims_a_reply=3, claim_rounds=2)
    made = run(judge(DirectAsk(), [document], Plan(precision=False), params))
    rows = figures(made["verdicts"], SHARES, stage=NAME, seed=1, provenance="p").set_index("metric")
    assert rows.loc[["claim_recall", "claim_recall_bounds"], "unscored"].tolist() == [0, 1], "scored in part"
    assert rows.loc["claim_recall_pooled", "unscored"] == 1 and rows.loc["claim_recall_pooled", "n"] == 6
    assert "doclens.claim_rounds" in made["unscored"]["reason"][0]


@each(
    "document, expected",
    [
        (
            Document("1", ("x",), NOTE, claims={"all": ("The patient has a cough.",)}, outputs={"s": ""}),
            {("s", "claim_recall"): 0.0},  # an empty output recalls nothing and has no precision
        ),
        (
            Document("1", ("x",), "", claims={"all": ()}, outputs={"s": "He smokes."}),
            {("s", "claim_precision"): 0.0},  # nothing to recall, and nothing is entailed
        ),
        (Document("1", ("x",), None, outputs={"s": "He smokes."}), {}),
    ],
)
def test_empty_and_missing_texts(document: Document, expected: dict) -> None:
    made = run(judge(JUDGE, [document], Plan(), DocLens(evaluator="simulator")))
    assert made["unscored"].empty and scores(made["verdicts"]) == expected


def test_an_expected_output_that_is_missing_leaves_null_judgements() -> None:
    document = Document("1", ("x",), "He coughs.", outputs={"s": "He coughs."})
    made = run(judge(JUDGE, [document], Plan(expected=["s", "t"], citing=["t"]), DocLens(evaluator="simulator")))
    lost = made["verdicts"][made["verdicts"]["system"] == "t"]
    assert lost["value"].isna().all()
    assert set(lost["metric"]) == {"claim_recall", "claim_precision", "citation_recall", "citation_precision"}


# citations


def test_statements_with_the_same_citations_are_judged_in_one_call_each_by_itself() -> None:
    ask = replies("1: 1\n2: 0")
    statements = [Statement("He has a cough.", (1,)), Statement("He has a fever.", (1,))]
    outputs, _ = run(judge_citations(InstructionEvaluator(ask, "plain"), {"a": statements}, {"a": SOURCE}))
    assert len(ask.calls) == 1 and [supported for supported, _ in outputs["a"]] == [True, False]


def test_citations_are_judged_by_the_definition() -> None:
    statements = [
        Statement("Dry cough.", (1,)),  # right
        Statement("Lungs clear.", (3, 2)),  # redundant 2
        Statement("He smokes.", (3,)),  # wrong
        Statement("Dry cough and lungs clear.", (1, 3)),  # both needed
        Statement("He has a fever.", (9,)),  # no such sentence
        Statement("Both lungs are clear.", (len(SOURCE),)),  # just behind the last one
    ]
    judged, failures = run(judge_citations(SimulatorEvaluator(), {"a": statements}, {"a": SOURCE}))
    assert failures == [] and [supported for supported, _ in judged["a"]] == [True, True, False, True, False, False]
    necessary = [one for _, of_statement in judged["a"] for one in of_statement]
    assert necessary == [True, True, False, False, True, True, False, False]


def test_a_text_of_which_the_judge_answers_nothing_has_no_score() -> None:
    copied, own = Statement("He smokes.", (2,)), Statement("He has a fever.", (1,))
    outputs = {"both": [copied, own, Statement("Uncited.", ())], "copies": [copied]}
    ask = InstructionEvaluator(replies("banana"), "plain")
    judged, failures = run(judge_citations(ask, outputs, dict.fromkeys(outputs, SOURCE)))
    assert [supported for supported, _ in judged["both"]] == [None, None, None]
    assert [supported for supported, _ in judged["copies"]] == [True] and [key for key, *_ in failures] == ["both"]


def test_one_call_names_the_supporting_citations() -> None:
    statements = [
        Statement("Lungs clear.", (3, 2)),
        Statement("He has a fever.", (9,)),
        Statement("Both lungs are clear.", (len(SOURCE),)),
    ]
    judged, failures = run(judge_citations_in_one_call(DirectAsk(), {"a": statements}, {"a": SOURCE}))
    assert failures == [] and judged["a"] == [(True, [True, False]), (False, [False]), (False, [False])]
    lost, failures = run(judge_citations_in_one_call(replies(None), {"a": statements}, {"a": SOURCE}))
    assert lost["a"] == [(None, [None, None]), (None, [None]), (None, [None])]
    assert failures == [("a", "refused", "raw reply")]


@each("one_call", [True, False])
def test_a_text_without_citations_has_recall_0_and_no_precision(one_call: bool) -> None:
    document = Document("1", ("The patient has a cough.",), outputs={"s": "The patient has a cough."})
    params = DocLens(evaluator="simulator", citations="one_call" if one_call else "definition")
    assert scores(run(judge(JUDGE, [document], Plan(citing=["s"]), params))["verdicts"]) == {
        ("s", "citation_recall"): 0
    }


# texts of the writer


def test_sections_without_text_are_left_out_and_lost_ones_are_unscored() -> None:
    ask = replies("SUBJECTIVE\n\nCough [0].", "PHYSICAL EXAM\n", None, "ASSESSMENT AND PLAN\n\nRest [0].")
    by_section = writer("cited_note", 0, by_section=True)
    (document,), unscored = run(write_outputs(ask, [Document("a", ("cough",), "Cough.")], [by_section]))
    assert document.outputs[by_section.name] == "SUBJECTIVE\n\nCough [0].\n\nASSESSMENT AND PLAN\n\nRest [0]."
    assert document.lost == {by_section.name: ("objective_results",)}
    step = f"cited_note/objective_results of {by_section.name}"
    assert [(row["record"], row["step"], row["reason"]) for row in unscored] == [("a", step, "refused")]
    plan = Plan("soap", citing=[by_section.name])
    judged = run(judge(JUDGE, [document], plan, DocLens(evaluator="simulator")))["verdicts"]
    lost = judged[judged["unit"] == "lost"]
    assert set(lost["item"]) == {"objective_results"} and len(lost) == 4 and lost["value"].isna().all()


# generated notes


def _notes(examples: int = 0, **evaluator: Any) -> Tables:
    prompt = {"mention": ['["cough"]'], "values": ['{"cough": "yes"}'], "descriptors": ['{"cough": "dry"}']}
    note = "**History**\nThe patient has a dry cough. He smokes.\n**Physical Examination**\nThe lungs are clear."
    frames = (
        pd.DataFrame({"record": [1], "note": [note]}),
        pd.DataFrame({"record": [1], "compact": ["Pt has dry cough. Lungs clear."]}),
        pd.DataFrame({"record": [1], **prompt}),
    )
    return run(judge_notes(WRITER, JUDGE, *frames, RULES, DocLens(**evaluator, writer_examples=examples)))


@each(
    "evaluator, name",
    [
        ({"style": "plain"}, "plain"),
        ({"style": "cot", "citations": "one_call"}, "cot"),
        ({"evaluator": "simulator"}, "simulator's rules"),
    ],
)
def test_generated_notes_by_evaluator(evaluator: dict, name: str) -> None:
    by_rules = f"judge: m; claims and citations: {name}"
    assert provenance(DocLens(**evaluator), "judge: m") == (by_rules if "evaluator" in evaluator else "judge: m")
    made = _notes(**evaluator)
    judged, cited = check(made["verdicts"], VERDICTS, "verdicts"), check(made["cited"], CITED_OUTPUTS, "cited")
    assert made["unscored"].empty and "[1]" in cited["cited"].iloc[0]
    assert set(judged["system"]) == {"compact notes", "notes against prompts", "cited compact notes"}
    assert scores(judged)["notes against prompts", "claim_recall"] == 1
    by_metric = judged.groupby("metric")["condition"].unique().str[0]
    assert by_metric["claim_recall"] == name
    assert by_metric["citation_recall"] == ("cot, one call" if "citations" in evaluator else name)


def test_an_nli_model_judges_and_is_named_by_its_folder(tmp_path: Path) -> None:
    model = str(save_classifier(tmp_path / "model"))
    made = _notes(evaluator="nli", nli_model=model)
    assert made["unscored"].empty and made["verdicts"]["value"].notna().all()
    assert set(made["verdicts"]["condition"]) == {model}


def test_only_claims_of_prompts_come_with_the_definitions_of_the_domain() -> None:
    asking = ScriptedAsk(lambda _: ValueError("no reply is needed"))
    claims = {"all": ("The patient has respiratory pain.",)}
    documents = [Document("1", ("x",), "Pain.", claims=claims, outputs={"s": "Pain on breathing."})]
    for glossary in ({}, RULES.glossary):
        run(judge(asking, documents, Plan(glossary=glossary, precision=False), DocLens()))
    definition = "pain in the airways or in the chest"
    assert [definition in call.messages[-1].content for call in asking.calls] == [False, True]


# dialogues and short summaries


REPORTS = [
    {
        "id": 1,
        "findings": "The lungs are clear. There is a fracture of the left seventh rib.",
        "impression": "Fracture of the left seventh rib.",
    },
    {"id": "b", "findings": "No bleeding. The sinuses are opaque.", "impression": "Opaque sinuses."},
]
MEQSUM = [{"example_id": "7", "input": "[0] I take warfarin. [1] Is it safe?", "reference": "Is ibuprofen safe?"}]
OUTSIDE = [{"id": "1", "text": "Fracture of the left seventh rib [1]."}, {"id": "b", "text": "The sinuses are opaque."}]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "doclens").mkdir()
    (tmp_path / "radiology").mkdir()
    (tmp_path / "doclens" / "meqsum_test.json").write_text(json.dumps(MEQSUM))
    for name, rows in (("reports", REPORTS), ("outside", OUTSIDE)):
        (tmp_path / "radiology" / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return tmp_path


def _tasks(folder: Path, **settings: Any) -> dict[str, Task]:
    return {task.name: task for task in read_tasks(folder, Summaries(**settings), seed=1)}


def _summaries(task: Task, write: Any = WRITER) -> Tables:
    return run(write_and_judge(write, JUDGE, task.documents, task.writers, task.plan, DocLens()))


@each("name", [file.stem for file in sorted((ROOT / SOURCE_FINGERPRINTS).glob("*.json"))])
@each("is_there", [False, True])
def test_without_outside_data_a_stage_writes_empty_tables(tmp_path: Path, name: str, is_there: bool) -> None:
    stage = MemoryStage(load_params(ROOT / "params.yaml"), tmp_path, name)
    stage.sources = tmp_path if is_there else None
    stage.tables["human_agreement"] = typed([], METRICS)  # of the stage before
    asyncio.run(stage_function(name)(stage))
    metrics = [table for table in stage.tables.values() if list(table.columns) == list(METRICS.columns)]
    assert metrics and all(check(table, METRICS, name).empty for table in metrics)


@each("kind, claims", [("one", 1), ("listed", 2)])
def test_a_question_counts_as_one_claim_or_by_its_listed_claims(sources: Path, kind: str, claims: int) -> None:
    (sources / "questions.jsonl").write_text('{"id": "7", "text": "May I take ibuprofen? How much is safe?"}')
    settings = {"examples": [], "question_outputs": {"outside": "questions.jsonl"}, "question_claims": kind}
    judged = _summaries(_tasks(sources, **settings)["questions"])["verdicts"]
    assert judged.groupby("metric").size().to_dict() == {"claim_precision": claims, "claim_recall": 1}


def test_impressions_are_asked_with_examples_of_each_category_with_and_without_citations(sources: Path) -> None:
    shown = [
        {"id": name, "category": name[:2], "findings": f"Finding {name}.", "impression": f"Impression {name} [0]."}
        for name in ("CT1", "CT2", "CT3", "MR1")
    ]
    (sources / "radiology" / "examples.jsonl").write_text("\n".join(map(json.dumps, shown)))
    task = _tasks(sources, examples=[0, 2], without_citations=True, reports=1)["impressions"]
    write = ScriptedAsk(lambda _: "The lungs are clear [0].")
    judged = _summaries(task, write)["verdicts"]
    cited, plain = (call.messages[-1].content for call in write.calls[2:])
    assert [one["id"] for one in shown if str(one["impression"]) in cited] == ["CT1", "CT2", "MR1"]
    assert "Impression CT1." in plain and "square brackets" not in plain and "[0]." not in plain
    systems = {f"writer, {n} examples{rest}" for n in (0, 3) for rest in ("", ", without citations")}
    assert set(judged["system"]) == systems
    cites = judged.loc[judged["metric"] == "citation_recall", "system"]
    assert set(cites) == {"writer, 0 examples", "writer, 3 examples"}


def test_reports_are_drawn_in_proportion_to_their_categories() -> None:
    categories = pd.Series(["CT"] * 60 + ["MR"] * 25 + ["XR"] * 15)
    chosen = sample(categories, 21, np.random.default_rng(1))
    assert categories.iloc[chosen].value_counts().to_dict() == {"CT": 13, "MR": 5, "XR": 3}
    assert len(sample(categories, 500, np.random.default_rng(1))) == 100


def test_an_example_without_citations_is_named(sources: Path) -> None:
    (sources / "radiology" / "examples.jsonl").write_text(json.dumps(REPORTS[0]))
    with pytest.raises(SourceError, match="id 1: impression has no citation"):
        _tasks(sources)


def test_a_failed_writer_leaves_summaries_unscored(sources: Path) -> None:
    made = _summaries(_tasks(sources, examples=[0])["impressions"], ScriptedAsk(lambda _: ValueError("refused")))
    rows = figures(made["verdicts"], SHARES, stage=NAME, seed=1, provenance="p")
    bounds = rows["metric"].str.endswith("_bounds")
    assert rows.loc[~bounds, "n"].eq(0).all() and rows["unscored"].eq(2).all()  # of every metric, two impressions
    assert rows.loc[bounds, ["low", "high"]].to_numpy().tolist() == [[0.0, 1.0]] * bounds.sum()
    assert made["unscored"]["record"].tolist() == ["impressions-1", "impressions-b"]
