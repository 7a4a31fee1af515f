"""Defects of a domain's files are named."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.runtime.domain import load_domain
from schemas.errors import DomainError
from tasks.domains import in_use
from tests.support.cases import from_table, merged
from tests.support.domain_copies import copied_domain, edit_file


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with copied_domain("respiratory", "mine", tmp_path, monkeypatch) as folder:
        yield folder


@from_table
def test_a_defect_is_one_line_with_file_and_key(copied: Path, name: str, change: dict[str, Any], message: str) -> None:
    edit_file(copied, name, lambda loaded: loaded.update(merged(loaded, change)))
    with pytest.raises(DomainError) as caught:
        load_domain("mine")
    assert message in str(caught.value) and str(copied) in str(caught.value)


def test_two_defects_are_two_lines(copied: Path) -> None:
    edit_file(copied, "wording", lambda w: (w["labels"].pop("fever"), w["conditions"].remove("asthma")))
    with pytest.raises(DomainError) as caught:
        load_domain("mine")
    assert len(str(caught.value).splitlines()) == 2


def test_an_unknown_domain_is_named_with_those_that_exist() -> None:
    with pytest.raises(DomainError, match=r"domain 'dental': no such folder; expected one of .*respiratory"):
        in_use.use_domain("dental")
