"""Code dependencies in dvc.yaml are generated from the imports; the rest of the file is unchanged."""

from pathlib import Path

import pytest

from flows.commands import deps
from flows.engine.code_dependencies import code_dependencies
from flows.engine.data_files import files_read_by
from flows.engine.imports import reachable, run_imports

WRITTEN = """\
stages:
  span_quality:  # a comment
    cmd: x
    deps:
      - tasks/spans
      - data/a.parquet  # kept
    params: [seed]

  split:
    cmd: y
    outs: [data/split.parquet]
"""


def test_only_code_entries_are_replaced(tmp_path: Path) -> None:
    text = deps.generated(WRITTEN)
    assert "  span_quality:  # a comment\n    cmd: x\n    deps:\n      - flows/engine/tables.py\n" in text
    assert "      - tasks/spans/quality.py\n" in text
    assert "      - tasks/spans\n" not in text
    assert "      - data/a.parquet  # kept\n    params: [seed]\n\n  split:\n    cmd: y\n    deps:\n" in text
    assert deps.generated(text) == text


def test_check_names_missing_and_superfluous_dependencies(tmp_path: Path) -> None:
    file = tmp_path / "dvc.yaml"
    file.write_text(WRITTEN)
    found = deps.differences(file)
    assert "stage span_quality lacks tasks/spans/quality.py; run vignette deps" in found
    assert "stage span_quality does not use tasks/spans; run vignette deps" in found
    file.write_text(deps.generated(WRITTEN))
    assert deps.differences(file) == []


def test_imports_inside_functions_count_and_type_only_imports_do_not() -> None:
    assert "flows.engine.dask_chunks" in run_imports("flows.commands.stage")  # in a function
    assert "flows.engine.clients" in run_imports("flows.engine.stage")
    assert "tasks.llm.store" not in reachable({"tasks.llm.store"}, {"tasks.llm.store"})


@pytest.mark.parametrize(
    ("modules", "read", "not_read"),
    [
        ({"tasks.notes.compacting"}, "tasks/notes/prompts/compact.txt", "tasks/notes/prompts/consistency.txt"),
        (
            {"tasks.evaluation.forms.page", "tasks.evaluation.expert_review.form"},
            "assets/review.js",
            "assets/questions.js",
        ),
        ({"tasks.reporting.page"}, "templates/macros.html", "templates/comparison.html"),
        ({"flows.stages.span_quality"}, "published/simsum_span_quality.csv", "published/simsum_table4_expert.csv"),
        ({"tasks.evaluation.doclens.evaluators"}, "prompts/entail_plain.txt", "prompts/subclaims.txt"),
        ({"tasks.simulator.clinical.resources"}, "data/cues.yaml", "data/drugs.yaml"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_data_files_are_those_that_the_modules_name(modules: set[str], read: str, not_read: str) -> None:
    found = [file.as_posix() for file in files_read_by(modules)]
    assert any(file.endswith(read) for file in found)
    assert not any(file.endswith(not_read) for file in found)


def test_a_doclens_prompt_is_no_dependency_of_other_judges() -> None:
    assert "tasks/evaluation/doclens/prompts/citations.txt" in code_dependencies("doclens")
    for stage in ("med_omit_published", "note_qa", "review"):
        assert not any("doclens/prompts" in entry for entry in code_dependencies(stage)), stage


def test_tables_are_a_dependency_of_every_stage_and_clients_of_none() -> None:
    entries = code_dependencies("sample")
    assert "flows/engine/tables.py" in entries
    assert not any(entry.startswith(("flows/engine/clients", "schemas/params", "tasks/llm")) for entry in entries)
