"""Every prompt's rendered text with its schema is a file that a reviewer can read."""

from pathlib import Path

from tests.golden.requests import FOLDER, files, requests

REGENERATE = "review the change, then run: python -m tests.golden.requests"


def test_the_golden_files_are_what_the_rooms_send():
    made = dict(files())
    assert set(FOLDER.glob("*.txt")) == set(made), REGENERATE
    changed = [file.name for file, text in made.items() if file.read_text(encoding="utf-8") != text]
    assert not changed, f"{', '.join(changed)} changed; {REGENERATE}"


def test_every_prompt_file_has_a_golden_file():
    prompts = {f"{file.parents[1].name}/{file.stem}" for file in Path("tasks").rglob("prompts/*.txt")}
    parts = {"notes/system", "notes/instructions", "visits/visit_instructions"}  # of the prompts for notes
    assert prompts - parts <= set(requests())
