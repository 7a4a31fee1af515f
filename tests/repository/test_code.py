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


def with_more(text: str) -> str:
    return text + "\nFURTHER = 1\n"


REDOCUMENTED = ("tasks/text/sentences.py", "tasks/llm/requests.py", "schemas/tables/columns.py")
NEVER = ("flows/runtime/stage.py", "flows/repository/workspace.py", "tasks/transport/store.py", "flows/commands/cli.py")
"""Code that never decides bytes."""


def test_docstrings_comments_and_layout_make_nothing_stale_nor_does_what_never_decides_bytes(tree: Path) -> None:
    assert stale(tree, dict.fromkeys(REDOCUMENTED, redocumented) | dict.fromkeys(NEVER, with_more)) == set()


HEAD = "async def run_split(stage: Stage) -> None:\n"


@pytest.mark.parametrize(
    ("edits", "found", "others"),
    [
        (
            {  # a formula, and one of several stages of a module
                "tasks/measures/note_qa/metrics.py": with_more,
                "flows/stages/records.py": replaced(HEAD, f"{HEAD}    1 + 1\n"),
            },
            {"note_qa", "split"},
            {"doclens", "overlap", "write", "span", "baselines", "sample"},
        ),
        (
            {  # a prompt and a page
                "tasks/measures/doclens/prompts/subclaims.txt": lambda text: text + "\n",
                "tasks/reporting/templates/page.html": lambda text: text + "\n",
            },
            {"doclens", "evaluate", "report"},
            {"note_qa", "span", "filter", "review"},
        ),
        ({"tasks/simulator/reader/timeline.py": with_more}, {"probe"}, {"write"}),  # it follows its role's fingerprint
    ],
)
def test_an_edit_makes_the_stages_stale_that_it_reaches(
    tree: Path, edits: Edits, found: set[str], others: set[str]
) -> None:
    edited = stale(tree, edits)
    assert found <= edited and not edited & others


def test_a_column_makes_the_stages_stale_whose_tables_have_it(tree: Path) -> None:
    edited = replaced(
        "NOTE_SENTENCES = table(\n    {\n", 'NOTE_SENTENCES = table(\n    {\n        "further": RECORD,\n'
    )
    stages = re.split(r"^  (?=\w)", (tree / MAIN).read_text(encoding="utf-8"), flags=re.MULTILINE)
    with_it = {stage.partition(":")[0] for stage in stages if "/note_sentences.parquet" in stage}
    assert stale(tree, {"schemas/tables/baselines.py": edited}) == with_it


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
