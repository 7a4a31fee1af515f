"""Prompts drawn with a seed are those of earlier versions: notes are written to them."""

from tests.notes.test_prompting import prompts
from tests.support.recorded import assert_as_recorded
from tests.support.records import random_records


def test_prompts() -> None:
    frame = prompts(random_records(12))
    columns = ["record", "kind", "mention", "avoid", "values", "descriptors", "causes", "conditions", "call", "slot"]
    assert_as_recorded("prompts", frame[columns])
    assert_as_recorded("prompt_texts", frame[["record", "prompt"]].head(3))
