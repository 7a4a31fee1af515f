"""A rehearsal has the simulator do a stage's work on a few documents, and scales what was asked."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from flows.runtime import rehearsal
from flows.runtime.chunks import Frames
from flows.runtime.rehearsal import DOCUMENTS, Sample, estimates, fewer, share
from flows.runtime.stage import Stage
from schemas.errors import UnscoredError
from schemas.params import Params
from schemas.params.llm import Price, Role, RoleName
from tasks.llm.calls import Ask
from tasks.transport.probing import PROBE_CALLS
from tests.support.params import shipped
from tests.support.rules import calls_of_rules, rules

PIPELINE = """
stages:
  code: {cmd: vignette stage code, outs: [fingerprints/code/drawn.json]}
  drawn: {cmd: vignette stage drawn, params: [sample], outs: [data/drawn.txt]}
  trained: {cmd: vignette stage trained, deps: [data/drawn.txt], params: [seed], outs: [data/trained.txt]}
  asked: {cmd: vignette stage asked, deps: [fingerprints/writer.json, data/drawn.txt], params: [seed], outs: [data/a]}
  broken: {cmd: vignette stage broken, deps: [fingerprints/writer.json, data/a], params: [calibrate], outs: [b.txt]}
  repeats: {cmd: vignette stage repeats, deps: [fingerprints/writer.json, data/a], params: [seed], outs: [d.txt]}
  hopeless: {cmd: vignette stage hopeless, deps: [fingerprints/judge.json], params: [seed], outs: [c.txt]}
"""
BIG = Role(base_url="https://api.example.com/v1", model="big")
ran: list[str] = []


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stages that draw records, train, ask, ask further calls and fail, ask nothing new and fail, and fail at once."""

    async def drawn(stage: Stage) -> None:
        stage.save_text("drawn", "x" * stage.params.sample.records)

    async def trained(stage: Stage) -> None:
        ran.append("trained")

    async def asked(stage: Stage) -> None:
        assert len(stage.dep("drawn").read_text()) == 5
        await stage.ask("writer")(calls_of_rules(3))
        stage.save_text("a", "")

    async def broken(stage: Stage) -> None:
        assert stage.dep("a").exists()
        await stage.ask("writer")(calls_of_rules(4)[6:])  # not asked before
        raise UnscoredError("too few documents")

    async def repeats(stage: Stage) -> None:
        await stage.ask("writer")(calls_of_rules(3))
        raise UnscoredError("too few documents")

    async def hopeless(stage: Stage) -> None:
        raise ValueError("no\nreason")

    functions: dict[str, Callable[[Stage], Awaitable[None]]] = {
        one.__name__: one for one in (drawn, trained, asked, broken, repeats, hopeless)
    }
    monkeypatch.setattr(rehearsal, "stage_function", functions.__getitem__)
    monkeypatch.chdir(tmp_path)
    Path("dvc.yaml").write_text(PIPELINE)
    ran.clear()
    with rules(monkeypatch, tmp_path):
        yield Path("dvc.yaml")


def test_calls_are_scaled_by_the_sizes_that_a_stage_or_what_it_needs_lists(pipeline: Path) -> None:
    params = shipped(roles={"writer": BIG, "judge": BIG}, prices={"big": Price(prompt=1e6, completion=0.0)})
    lines, failed = estimates(params, pipeline)
    found = {line.stage: (line.estimate.role, line.estimate.calls, line.how) for line in lines}
    assert found == {
        "probe": ("writer", PROBE_CALLS, "at most"),  # once for both roles
        "asked": ("writer", 6 * 1000 / 5, "rehearsed"),
        "broken": ("writer", 2 * 100 / 5, "rehearsed in part"),
    }
    assert failed == {"hopeless": "ValueError: no reason"} and ran == []
    assert lines[1].dollars == lines[1].estimate.prompt_tokens > 0
    assert not Path("data").exists() and not Path("fingerprints").exists()
    assert estimates(params, pipeline, ["trained"]) == ([], {})


def test_sections_shrink_in_proportion_and_patients_with_their_questions() -> None:
    whole = shipped()
    few = fewer(whole)
    assert (few.sample.records, few.doclens.notes, few.calibrate.notes) == (5, 5, 5)
    assert (few.note_qa.patients_by_notes, few.note_qa.planted_questions) == ([1, 1, 1], 2)
    assert (few.visits.patients, few.visits.long_visits, few.history_qa.planted_questions) == (10, [22], 6)
    assert (few.planted_errors.each, few.planted_errors.assertions, few.planted_errors.rounds) == (3, 1, 40)
    assert fewer(few).sample == few.sample
    listed = {"sample": 200, "doclens.notes": 40, "doclens.style": None, "visits": 4, "summarise": 6}
    assert {name: share(whole, few, [name, "seed"]) for name in listed} == listed
    small = whole.model_copy(update={"sample": whole.sample.model_copy(update={"records": 50})})
    assert share(small, fewer(small), ["doclens.notes"]) == 10, "there are 50 notes to judge"
    least = shipped(sample={"records": 10})
    assert share(least, fewer(least), ["note_qa"], 2) == 5, "of 10 records, 10 patients can have notes"
    assert share(whole, few, ["note_qa", "summarise"]) == 6, "without patients of records"


@pytest.mark.parametrize("by_notes", [[3, 0, 0], [3, 3, 3], [10, 10, 10], [0, 0, 5], [0, 0, 0]])
def test_questions_are_scaled_by_the_patients_that_a_few_records_have(
    by_notes: list[int], pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked(stage: Stage) -> None:
        few = stage.params.note_qa.patients_by_notes
        patients = pd.DataFrame({"patient": [f"p{n}" for n in range(sum(few[:2]))]})  # five records: none with three
        await stage.in_chunks(ask_of_patients, {"patients": patients}, by="patient")

    async def ask_of_patients(frames: Frames, ask: Callable[[RoleName], Ask], _: Params) -> Frames:
        await ask("writer")(calls_of_rules(len(frames["patients"])))
        return frames

    deps = "deps: [fingerprints/writer.json], params: [note_qa]"
    pipeline.write_text(f"stages: {{asked: {{cmd: vignette stage asked, {deps}, outs: [data/a]}}}}")
    monkeypatch.setattr(rehearsal, "stage_function", {"asked": asked}.__getitem__)
    lines, failed = estimates(shipped(note_qa={"patients_by_notes": by_notes}), pipeline, ["asked"])
    assert (sum(line.estimate.calls for line in lines), failed) == (2 * sum(by_notes), {})


def test_documents_are_sampled_and_scaled_by_their_length() -> None:
    sample = Sample()
    documents = pd.DataFrame({"document": [f"d{n:02}" for n in range(60)], "text": ["four"] * 60})
    assert len(sample.of({"documents": documents}, "document")["documents"]) == DOCUMENTS
    assert sample.times == 10
    assert len(sample.of({"notes": documents.rename(columns={"document": "record"})}, "record")["notes"]) == 60


def test_a_sample_of_no_documents_is_empty() -> None:
    """As where no patient of a few has enough visits."""
    sample = Sample()
    assert sample.of({"documents": pd.DataFrame({"document": []})}, "document")["documents"].empty and sample.times == 1
