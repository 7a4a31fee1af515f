"""The replies of a strong model to an earlier version of the prompts: all of them can be used as they are."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.llm.calls import Reply
from tasks.llm.replies import Completion, read_reply
from tasks.measures.doclens.citations import read_statements
from tasks.measures.med_omit.fact_score import DiagnosisNames
from tasks.measures.note_qa.answering import verdict_of
from tasks.notes.writing import read_note, read_notes
from tests.llm.test_requests import replies
from tests.support.sources import needs_sources, sources_folder

GONE = {"sort facts by diagnosis", "rate a clinical note", "group facts by mechanism", "find omitted facts"}
"""Tasks asked otherwise since: supporting and refuting facts apart, ratings with a reason, groups with their kind,
and a verdict for every fact."""
KINDS = {kind.__name__: kind for kind in replies()}


def rows() -> list[dict[str, Any]]:
    file = (sources_folder() or Path()) / "model_replies" / "strong_model.jsonl"
    if not file.exists():
        pytest.skip(f"{file} is absent")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


def tag(row: dict[str, Any], name: str) -> list[str]:
    """Lines between the tags ``name`` of the request."""
    text = "\n".join(message["content"] for message in row["messages"])
    found = re.findall(rf"<{name}>\n(.*?)\n</{name}>", text, re.DOTALL)
    return found[-1].split("\n") if found else []


def context(row: dict[str, Any]) -> dict[str, Any]:
    """The validation context of a request, read from its text."""
    facts = dict(line.split(": ", 1) for line in tag(row, "facts") if re.match(r"F\d+: ", line))
    names = tuple(line.rpartition(":")[0] for line in tag(row, "differential"))
    return {
        "facts": facts or None,
        "claims": len(tag(row, "claims")),
        "diagnoses": DiagnosisNames(names, lambda given: np.eye(len(given)), 0.8) if names else None,
    }


def read(row: dict[str, Any]) -> Reply | None:
    completion = Completion(row["reply"], None, "stop", "m", None)
    return read_reply(
        completion, KINDS[row["schema"]["name"] if isinstance(row["schema"], dict) else row["schema"]], context(row)
    )


@needs_sources
def test_every_structured_reply_is_read() -> None:
    asked = [row for row in rows() if row["schema"] and row["task"] not in GONE]
    counts = Counter(row["task"] for row in asked if read(row))
    assert counts.total() == len(asked) > 300


@needs_sources
def test_every_reply_in_text_is_read() -> None:
    for row in rows():
        task, reply = row["task"], row["reply"]
        if task == "write three clinical notes for other complaints":
            assert len(read_notes(reply)) == 3
        elif task in ("write a clinical note", "write the compact version"):
            assert read_note(reply) == reply.strip()
        elif task == "write a cited compact note":
            statements = read_statements(reply)
            assert len(statements) > 10 and all(one.citations for one in statements)
        elif task == "judge an answer":
            assert verdict_of(reply) is not None
