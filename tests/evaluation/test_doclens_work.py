"""DocLens from texts to judgements: generated notes, dialogues and short summaries, with every evaluator."""

import asyncio
import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flows.engine.params import load_params
from flows.engine.tables import check
from flows.stages import doclens_summaries
from schemas.errors import SourceError
from schemas.params.doclens import DocLens
from schemas.params.overlap import Overlap
from schemas.params.summaries import Summaries
from schemas.tables.evaluation import CITED_OUTPUTS, JUDGED
from schemas.tables.metrics import METRICS
from tasks.evaluation.doclens.citations import read_statements, without_citations
from tasks.evaluation.doclens.dialogue_work import judge_system
from tasks.evaluation.doclens.evaluators import EmbeddedEvaluator, InstructionEvaluator
from tasks.evaluation.doclens.judging import CitedText, Pair, judge_cited_texts, judge_claims
from tasks.evaluation.doclens.metrics import document_scores, metric_rows
from tasks.evaluation.doclens.note_texts import compact_pairs, prompt_claims, prompt_pairs
from tasks.evaluation.doclens.note_work import judge_notes
from tasks.evaluation.doclens.outside import read_meqsum, read_radiology, read_texts
from tasks.evaluation.doclens.subclaims import Limits
from tasks.evaluation.doclens.summaries import judge_summaries, read_documents, sample
from tasks.evaluation.doclens.summary_tables import system_tables
from tasks.evaluation.documents.encounters import encounter_documents
from tasks.evaluation.documents.model import documents_of, documents_table
from tasks.llm.calls import Answer
from tests.support.direct import DirectAsk
from tests.support.imports import ROOT
from tests.support.memory_stage import MemoryStage
from tests.support.nli import save_classifier, save_true_style
from tests.support.scripted import ScriptedAsk
from tests.support.sources import needs_sources, sources_folder

NOTE = "**History**\nThe patient has a dry cough. He smokes.\n**Physical Examination**\nThe lungs are clear."
WRITER, JUDGE = DirectAsk("vignette-writer"), DirectAsk()


def _scores(judged: pd.DataFrame) -> dict[tuple[str, str], float]:
    scores = document_scores(judged)
    return dict(zip(zip(scores["system"], scores["metric"], strict=True), scores["value"], strict=True))


def test_an_empty_summary_recalls_nothing_and_has_no_precision() -> None:
    pair = Pair("1", "s", NOTE, "", reference_claims=("The patient has a cough.", "He smokes."))
    judged = asyncio.run(judge_claims(JUDGE, EmbeddedEvaluator(), [pair], condition="c", limits=Limits()))
    assert judged.unscored == []
    assert _scores(judged.table) == {("s", "claim_recall"): 0.0}
    rows = metric_rows(judged.table, seed=1, provenance="p")
    assert set(rows["metric"]) == {"claim_recall", "claim_recall_pooled"}


def test_a_reference_without_claims_has_no_recall_and_entails_nothing() -> None:
    pair = Pair("1", "s", "", "He smokes.", output_claims=("He smokes.",))
    judged = asyncio.run(judge_claims(JUDGE, EmbeddedEvaluator(), [pair], condition="c", limits=Limits()))
    assert _scores(judged.table) == {("s", "claim_precision"): 0.0}


@pytest.mark.parametrize("one_call", [True, False])
def test_a_text_without_citations_has_recall_0_and_no_precision(one_call: bool) -> None:
    text = CitedText("1", "s", tuple(read_statements("The patient has a cough.")), ("The patient has a cough.",))
    judged = asyncio.run(judge_cited_texts(JUDGE, EmbeddedEvaluator(), [text], condition="c", one_call=one_call))
    assert _scores(judged.table) == {("s", "citation_recall"): 0.0}


def test_marks_are_taken_out_before_claims_are_judged() -> None:
    assert without_citations("Dry cough [1] [2]. No fever [3][4].\nLungs [clear].") == (
        "Dry cough. No fever.\nLungs [clear]."
    )


def test_a_judge_of_a_domain_is_given_the_definitions_of_its_symptoms() -> None:
    notes = pd.DataFrame({"record": [1], "note": [NOTE]})
    asked = {"mention": '["pain"]', "values": '{"pain": "yes"}', "descriptors": "{}"}
    pairs = [*prompt_pairs(notes, pd.DataFrame({"record": [1], **asked})), *compact_pairs(notes, compact_of(notes))]
    asking = ScriptedAsk(lambda _: ValueError("no reply is needed"))
    asyncio.run(judge_claims(asking, InstructionEvaluator(asking), pairs, condition="c", limits=Limits()))
    definition = "pain in the airways or in the chest"
    assert [call.key for call in asking.calls if definition in call.messages[-1].content] == [
        "1/notes against prompts/all/claim_recall"
    ]


def compact_of(notes: pd.DataFrame) -> pd.DataFrame:
    return notes.rename(columns={"note": "compact"})


def test_prompt_facts_are_claims_of_value_and_descriptor() -> None:
    values = {"pain": "yes", "fever": "low", "cough": "no"}
    assert prompt_claims(["pain", "fever", "cough"], values, {"pain": "worse on breathing"}) == (
        "The patient has respiratory pain.",
        "The patient's respiratory pain: worse on breathing.",
        "The patient has a low-grade fever.",
        "The patient does not have cough.",
    )


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {"pair": save_classifier(folder / "pair"), "true": save_true_style(folder / "true")}


def _frames() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    prompt = {"mention": ['["cough"]'], "values": ['{"cough": "yes"}'], "descriptors": ['{"cough": "dry"}']}
    return (
        pd.DataFrame({"record": [1], "note": [NOTE]}),
        pd.DataFrame({"record": [1], "compact": ["Pt has dry cough. Lungs clear."]}),
        pd.DataFrame({"record": [1], **prompt}),
    )


@pytest.mark.parametrize("examples", [0, 1, 2])
@pytest.mark.parametrize(
    ("evaluator", "condition"),
    [
        ({"style": "plain"}, "plain"),
        ({"style": "cot", "citations": "one_call"}, "cot"),
        ({"evaluator": "embedded"}, "embedded rules"),
    ],
)
def test_our_notes_by_evaluator_and_number_of_examples(evaluator: dict, condition: str, examples: int) -> None:
    params = DocLens(**evaluator, writer_examples=examples)
    judged, cited, unscored = asyncio.run(judge_notes(WRITER, JUDGE, *_frames(), params))
    assert unscored == []
    JUDGED.validate(judged)
    CITED_OUTPUTS.validate(cited)
    assert "[1]" in cited["cited"].iloc[0]
    assert condition in set(judged["condition"])
    assert set(judged["system"]) == {"compact notes", "notes against prompts", "cited compact notes"}
    assert _scores(judged)["notes against prompts", "claim_recall"] == 1
    cites = judged[judged["metric"] == "citation_recall"]
    assert set(cites["condition"]) == {"cot, one call" if params.citations == "one_call" else condition}


@pytest.mark.parametrize("kind", ["pair", "true"])
def test_an_nli_model_judges_a_stage_by_its_folder(models: dict[str, Path], kind: str) -> None:
    judged = {}
    for batch in (1, 16):
        params = DocLens(evaluator="nli", nli_model=str(models[kind]), nli_batch=batch)
        judged[batch], _, unscored = asyncio.run(judge_notes(WRITER, JUDGE, *_frames(), params))
        assert unscored == []
    assert set(judged[1]["condition"]) == {str(models[kind])}
    assert judged[1]["judged"].notna().all()
    pd.testing.assert_frame_equal(judged[1], judged[16])


ENCOUNTERS = pd.DataFrame(
    {
        "encounter": ["e", "f"],
        "dialogue": [
            "[doctor] how are you ?\n[patient] i have had a bad cough for three weeks now .",
            "[doctor] what brings you in ?\n[patient] i have had a sore right knee since my fall .",
        ],
        "note": [
            "HISTORY\nThe patient has had a bad cough for three weeks.",
            "HISTORY\nThe patient has a sore right knee.",
        ],
    }
)


def test_dialogues_are_judged_by_section_cited_whole_and_by_section_and_correlated() -> None:
    parts = ("objective_exam", "objective_results", "assessment_and_plan")
    subclaims = {
        "e": {"subjective": ("The patient has a cough.",), **dict.fromkeys(parts, ())},
        "f": {"subjective": ("The right knee is sore.",), **dict.fromkeys(parts, ())},
    }
    outputs = {
        "copy": dict(zip(ENCOUNTERS["encounter"], ENCOUNTERS["note"], strict=True)),
        "empty": {"e": "", "f": ""},
    }
    documents = documents_of(documents_table(encounter_documents(ENCOUNTERS, outputs, subclaims)))
    found, texts, unwritten = asyncio.run(judge_system(WRITER, JUDGE, documents, DocLens()))
    assert [*unwritten, *found.unscored] == []
    judged = found.table
    scores = document_scores(judged).set_index(["system", "item", "metric", "document"])["value"]
    assert scores["copy", "subjective", "claim_recall", "e"] == 1
    assert scores["empty", "all", "claim_recall", "f"] == 0
    assert "citation_recall" not in set(judged.loc[judged["system"] == "copy", "metric"])
    assert {"writer (full)", "writer (section)"} <= set(judged.loc[judged["metric"] == "citation_recall", "system"])
    by_section = judged[judged["metric"].eq("citation_recall") & judged["system"].eq("writer (section)")]
    assert "subjective" in set(by_section["item"]) and "all" not in set(by_section["item"])
    pooled = scores.xs(("writer (section)", "all", "citation_recall"), level=("system", "item", "metric"))
    assert pooled.to_dict() == by_section.groupby("document")["judged"].mean().to_dict()
    assert not texts["text"].str.contains(r"\[\d+\]").any()
    rows = system_tables(judged, texts, outputs["copy"], Overlap(), stage="doclens", seed=1, made_by="p")
    found = METRICS.validate(rows).set_index(["system", "condition", "item", "metric"])
    assert found.loc[("copy", "overlap", "all", "rouge1_f"), "value"] == 1
    tau = found.loc[("systems", "agreement of metrics", "rouge1_r and claim_recall", "kendall")]
    assert tau["n"] == 4
    assert tau["value"] > 0


REPORTS = [
    {
        "id": 1,
        "findings": "The lungs are clear. There is a fracture of the left seventh rib.",
        "impression": "Fracture of the left seventh rib.",
    },
    {"id": "b", "findings": "No bleeding. The sinuses are opaque.", "impression": "Opaque sinuses."},
]
QUESTIONS = [
    {"example_id": "7", "input": "[0] I take warfarin. [1] Is ibuprofen safe?", "reference": "Is ibuprofen safe?"}
]
OUTSIDE = [{"id": "1", "text": "Fracture of the left seventh rib [1]."}, {"id": "b", "text": "The sinuses are opaque."}]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "doclens").mkdir()
    (tmp_path / "radiology").mkdir()
    (tmp_path / "doclens" / "meqsum_test.json").write_text(json.dumps(QUESTIONS))
    for name, rows in (("reports", REPORTS), ("outside", OUTSIDE)):
        (tmp_path / "radiology" / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return tmp_path


def test_short_summaries_run_through_their_stage(sources: Path, tmp_path: Path) -> None:
    loaded = load_params(ROOT / "params.yaml")
    chosen = Summaries(impression_outputs={"outside": "radiology/outside.jsonl"})
    tables = {}
    for rows in (1, 250):
        runtime = loaded.runtime.model_copy(update={"chunk_rows": rows})
        stage = MemoryStage(loaded.model_copy(update={"summaries": chosen, "runtime": runtime}), tmp_path)
        stage.sources = sources
        asyncio.run(doclens_summaries.run(stage))
        tables[rows] = stage.tables["doclens_summaries"]
    pd.testing.assert_frame_equal(tables[1], tables[250])
    found = METRICS.validate(tables[1]).set_index(["stage", "system", "condition", "item", "metric"])
    value = found["value"]
    assert value["doclens_impressions", "outside", "json_cot", "all", "claim_recall"] == 1
    assert value["doclens_impressions", "outside", "json_cot", "all", "citation_recall"] == 0.5  # one cites nothing
    assert value["doclens_impressions", "outside", "json_cot", "all", "citation_precision"] == 1
    for count in ("0 examples", "1 example", "2 examples"):
        assert ("doclens_questions", f"writer, {count}", "json_cot", "all", "citation_recall") in value.index
    assert np.isnan(value["doclens_questions", "all systems", "overlap", "all", "medcon"])


@pytest.mark.parametrize("name", ["doclens_published", "med_omit_published", "doclens_summaries"])
@pytest.mark.parametrize("folder", ["none", "empty"])
def test_without_outside_data_a_stage_writes_empty_tables(tmp_path: Path, name: str, folder: str) -> None:
    stage = MemoryStage(load_params(ROOT / "params.yaml"), tmp_path)
    stage.sources = tmp_path if folder == "empty" else None
    asyncio.run(import_module(f"flows.stages.{name}").run(stage))
    metrics = [table for table in stage.tables.values() if list(table.columns) == list(METRICS.columns)]
    assert len(metrics) == 1
    assert check(metrics[0], METRICS, name).empty


def test_a_question_counts_as_one_claim_or_by_its_listed_claims(sources: Path) -> None:
    outputs = {"outside": "questions.jsonl"}
    (sources / "questions.jsonl").write_text('{"id": "7", "text": "May I take ibuprofen? How much of it is safe?"}')
    counts = {}
    for kind in ("one", "listed"):
        chosen = Summaries(examples=[], question_outputs=outputs, question_claims=kind, reports=1)
        documents = read_documents(sources, chosen, seed=1)
        judged, _, _ = asyncio.run(judge_summaries(WRITER, JUDGE, documents, DocLens(), chosen))
        counts[kind] = judged[judged["item"] == "questions"].groupby("metric").size().to_dict()
    assert counts["one"] == {"claim_precision": 1, "claim_recall": 1}
    assert counts["listed"]["claim_precision"] == 2


class Recording(DirectAsk):
    """Keeps the requests, and answers each with one sentence."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []

    async def __call__(self, calls):  # type: ignore[no-untyped-def]
        self.requests += [call.messages[-1].content for call in calls]
        return [Answer(call.key, text="The lungs are clear [0].") for call in calls]


def test_impressions_are_asked_with_examples_of_each_category_with_and_without_citations(sources: Path) -> None:
    shown = [
        {"id": name, "category": name[:2], "findings": f"Finding {name}.", "impression": f"Impression {name} [0]."}
        for name in ("CT1", "CT2", "CT3", "MR1")
    ]
    (sources / "radiology" / "examples.jsonl").write_text("\n".join(map(json.dumps, shown)))
    chosen = Summaries(examples=[0, 2], without_citations=True, reports=1)
    documents = read_documents(sources, chosen, seed=1)
    documents = documents[documents["task"] == "impressions"]
    writer = Recording()
    judged, texts, unscored = asyncio.run(judge_summaries(writer, JUDGE, documents, DocLens(), chosen))
    assert unscored == []
    cited, plain = writer.requests[2:]
    assert [name for name in ("CT1", "CT2", "CT3", "MR1") if f"Impression {name} [0]." in cited] == [
        "CT1",
        "CT2",
        "MR1",
    ]
    assert "Impression CT1." in plain and "square brackets" not in plain and "[0]." not in plain
    systems = {f"writer, {n} examples{rest}" for n in (0, 3) for rest in ("", ", without citations")}
    assert set(texts["system"]) == systems
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
        read_documents(sources, Summaries(), seed=1)


def test_a_failed_writer_leaves_summaries_unscored(sources: Path) -> None:
    class Refusing(DirectAsk):
        async def __call__(self, calls):  # type: ignore[no-untyped-def]
            return [Answer(call.key, failure="refused") for call in calls]

    documents = read_documents(sources, Summaries(), seed=1)
    judged, texts, unscored = asyncio.run(
        judge_summaries(Refusing(), JUDGE, documents, DocLens(), Summaries(examples=[0]))
    )
    assert judged["judged"].isna().all() and texts.empty
    rows = metric_rows(judged[judged["item"] == "impressions"], seed=1, provenance="p").set_index("metric")
    assert rows["n"].eq(0).all() and rows["unscored"].eq(2).all()  # of every metric, two impressions
    assert [row["record"] for row in unscored] == ["impressions-1", "impressions-b", "questions-7"]


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (read_radiology, '{"id": 1, "findings": "x"}', "line 1: expected id, findings, impression"),
        (read_radiology, '{"id": 1, "findings": "x", "impression": ""}\n' * 2, "id 1 stands twice"),
        (read_radiology, "not json", "line 1"),
        (read_texts, '{"id": 1}', "line 1: expected id, text"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, read, text: str, said: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "f.jsonl").write_text(text)
    with pytest.raises(SourceError, match=said):
        read(tmp_path / "f.jsonl")


@pytest.mark.parametrize(
    ("entry", "said"),
    [({"example_id": 1, "reference": "x"}, "entry 0"), ({**QUESTIONS[0], "input": "no numbers"}, "no numbered")],
)
def test_bad_questions_are_named(tmp_path: Path, entry: dict, said: str) -> None:
    (tmp_path / "doclens").mkdir()
    (tmp_path / "doclens" / "meqsum_test.json").write_text(json.dumps([entry]))
    with pytest.raises(SourceError, match=said):
        read_meqsum(tmp_path)


@needs_sources
def test_meqsum_is_read_whole() -> None:
    folder = sources_folder()
    assert folder is not None
    assert len(read_meqsum(folder)) == 100
