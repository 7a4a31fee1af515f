"""An edit makes stale the stages whose results it can change, and no others."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from flows.repository.code import PIPELINES, StageCode
from flows.repository.pipeline import MAIN
from tasks.code import ROOT, Code


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code and of the files that define the pipelines, with its fingerprints."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("flows", "tasks", "schemas"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for pipeline in PIPELINES:
        (folder / pipeline).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / pipeline, folder / pipeline)
    StageCode(folder).write()
    return folder


Edits = dict[str, Callable[[str], str]]


def stale(tree: Path, edits: Edits) -> set[str]:
    """The stages whose fingerprint is another one after edits, which are undone."""
    before = {tree / name: (tree / name).read_text(encoding="utf-8") for name in edits}
    for name, edit in edits.items():
        text = edit(before[tree / name])
        assert text != before[tree / name], f"{name} is not edited"
        (tree / name).write_text(text, encoding="utf-8")
    try:
        return {path.stem for path in StageCode(tree).changed()}
    finally:
        for file, text in before.items():
            file.write_text(text, encoding="utf-8")


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


def redocumented(text: str) -> str:
    """A module with other docstrings of itself and of its functions, another layout and a comment."""
    text = re.sub(r'\A"""', '"""Another first line. ', text)
    text = re.sub(r'^(def .*:\n    """)', r"\1Once more: ", text, flags=re.MULTILINE)
    return "# A comment.\n\n" + text.replace("\n\n\n", "\n\n\n\n")


def test_docstrings_comments_and_layout_make_nothing_stale(tree: Path) -> None:
    modules = (
        "tasks/text/sentences.py",
        "tasks/text/sections.py",
        "tasks/statistics/intervals.py",
        "tasks/statistics/bootstrap.py",
        "tasks/llm/requests.py",
        "tasks/llm/ask_all.py",
        "tasks/network/graph.py",
        "tasks/simulator/dispatch.py",
        "tasks/simulator/resources.py",
        "schemas/tables/columns.py",
    )
    assert stale(tree, dict.fromkeys(modules, redocumented)) == set()


def test_a_formula_makes_the_stages_stale_that_reach_it(tree: Path) -> None:
    found = stale(tree, {"tasks/measures/note_qa/metrics.py": lambda text: text + "\nFURTHER = 1\n"})
    assert "note_qa" in found and not found & {"doclens", "overlap", "write", "span", "baselines", "sample"}


def test_a_prompt_makes_the_stages_stale_that_render_it(tree: Path) -> None:
    found = stale(tree, {"tasks/measures/doclens/prompts/subclaims.txt": lambda text: text + "\n"})
    assert "doclens" in found
    assert not found & {"note_qa", "span", "filter", "review"}


def test_a_page_template_makes_the_stages_stale_that_write_pages(tree: Path) -> None:
    assert stale(tree, {"tasks/reporting/templates/page.html": lambda text: text + "\n"}) == {"evaluate", "report"}


def test_a_column_makes_the_stages_stale_whose_tables_have_it(tree: Path) -> None:
    edited = replaced(
        "NOTE_SENTENCES = table(\n    {\n", 'NOTE_SENTENCES = table(\n    {\n        "further": RECORD,\n'
    )
    stages = re.split(r"^  (?=\w)", (tree / MAIN).read_text(encoding="utf-8"), flags=re.MULTILINE)
    with_it = {stage.partition(":")[0] for stage in stages if "/note_sentences.parquet" in stage}
    assert stale(tree, {"schemas/tables/baselines.py": edited}) == with_it


def test_of_a_module_with_several_stages_the_edited_one_is_stale(tree: Path) -> None:
    head = "async def run_split(stage: Stage) -> None:\n"
    assert stale(tree, {"flows/stages/records.py": replaced(head, f"{head}    1 + 1\n")}) == {"split"}


def test_what_never_decides_bytes_makes_nothing_stale(tree: Path) -> None:
    more = dict.fromkeys(
        (
            "flows/runtime/stage.py",
            "flows/repository/workspace.py",
            "tasks/transport/store.py",
            "flows/commands/cli.py",
        ),
        lambda text: text + "\nFURTHER = 1\n",
    )
    assert stale(tree, more) == set()


def test_a_rule_of_the_simulator_makes_the_probe_stale(tree: Path) -> None:
    more = {"tasks/simulator/reader/timeline.py": lambda text: text + "\nFURTHER = 1\n"}
    assert {"probe"} <= stale(tree, more) and "write" not in stale(tree, more), "it follows the fingerprint of its role"


def code(folder: Path, **modules: str) -> Code:
    """The code of a tree with modules, in the package ``tasks``, by name."""
    for name, text in modules.items():
        file = folder / "tasks" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return Code(folder)


SAMPLE = '''
"""A module."""
from typing import TYPE_CHECKING
import os, sys as system
if TYPE_CHECKING:
    from tasks.b import T

class Reply(Base):
    """What is sent."""
    part: str = "a"
    """What a part is."""

@cache
async def f(a, /, b: int = 1, *c, d=None, **e) -> "T":
    """Docstring."""
    with open(a) as one, open(b) as two:
        text = f"{a!r:>{b}} {b:,} {{x}} {c[0]=}" "tail" f"{d}"
    match a:
        case {"k": [1, *rest]} | None if rest: return lambda x: (yield x)
        case _: pass
    try:
        return {**e, 1: 1e3, 2: 0x10, 3: 1j}, [*c], {x for x in c if x}, a[1:2, ...], not a, -b
    except* ValueError as error:
        raise TypeError("é" "\\n") from error
'''


def test_a_hash_is_the_same_on_every_version_of_python(tmp_path: Path) -> None:
    """The expected one was found on 3.11, 3.12 and 3.13, whose syntax trees differ."""
    found = code(tmp_path, a=SAMPLE)
    assert found.hashes({"tasks.a": found.statements("tasks.a")}, [])["tasks.a"] == "019f9b6b91fd88a1"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (SAMPLE.replace("A module.", "Another."), True),
        (SAMPLE.replace('"""Docstring."""', "# a comment"), True),
        (SAMPLE.replace("import os, sys as system", "import os\nimport sys as system"), True),
        (SAMPLE.replace("from tasks.b import T", "from tasks.b import T, U"), True),
        (SAMPLE.replace("What is sent", "What else is sent"), False),
        (SAMPLE.replace("What a part is", "What the part is"), False),
        (SAMPLE.replace("1e3", "1e4"), False),
        (SAMPLE.replace("not a", "a"), False),
        (SAMPLE.replace("{b:,}", "{b:.1f}"), False),
        (SAMPLE.replace("b: int = 1", "b: int = True"), False),
    ],
)
def test_what_counts_in_a_module(tmp_path: Path, text: str, same: bool) -> None:
    found = code(tmp_path, a=SAMPLE, b=text)
    hashes = found.hashes({name: found.statements(name) for name in ("tasks.a", "tasks.b")}, [])
    assert (hashes["tasks.a"] == hashes["tasks.b"]) is same


def test_modules_that_are_imported_in_functions_or_by_name_are_reached(tmp_path: Path) -> None:
    found = code(
        tmp_path,
        __init__="",
        a="def f():\n    from tasks.b import g\n",
        b="from importlib import import_module\nHANDLERS = {'x': 'c:run', 'y': 'tasks.room*'}\n",
        c="import tasks.d\nfrom tasks import e\n",
        d="",
        e="",
        f="import tasks.a",
        room1="",
    )
    assert {*found.reached([("tasks.a", None)])} == {"tasks", *(f"tasks.{name}" for name in [*"abcde", "room1"])}
    assert "tasks.c" not in found.reached([("tasks.a", None)], by_name=False)
    assert "tasks.b" not in found.reached([("tasks.a", None)], {"tasks.b"})
