"""Definitions of networks: what a file may hold."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from schemas.errors import NetworkError
from schemas.tables.records import COMPACT_NOTES, NOTES, records_schema, visits_schema
from tasks.domains.in_use import FOLDER
from tasks.network.definition import load_definition
from tests.network.networks import GUT
from tests.support.cases import from_table, merged

FILE = FOLDER / "respiratory" / "network.yaml"


def test_causes_come_first_for_any_order_of_the_file() -> None:
    assert GUT.variables[0] == "visits"
    for name in GUT.variables:
        assert all(GUT.order.index(parent) < GUT.order.index(name) for parent in GUT.parents(name))


@from_table
def test_bad_file_is_rejected_with_node_and_entry(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    loaded = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    loaded["variables"] = merged(loaded["variables"], change)
    bad = tmp_path / "bad.yaml"
    bad.write_text(yaml.safe_dump(loaded, sort_keys=False), encoding="utf-8")
    with pytest.raises(NetworkError, match=message) as caught:
        load_definition(bad)
    assert str(bad) in str(caught.value)


STRUCTURE = {*records_schema(GUT).columns, *visits_schema(GUT).columns} - {*GUT.variables}


@pytest.mark.parametrize("name", sorted({*STRUCTURE, *NOTES.columns, *COMPACT_NOTES.columns}))
def test_no_variable_may_have_the_name_of_a_column_of_the_tables(name: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    node = {"type": "underlying condition", "values": ["no", "yes"], "table": [0.5, 0.5]}
    bad.write_text(yaml.safe_dump({"name": "x", "variables": {name: node}}), encoding="utf-8")
    with pytest.raises(NetworkError, match=f"node {name}: this name is reserved"):
        load_definition(bad)


@from_table
def test_file_that_is_no_network_is_rejected(text: str, message: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(text, encoding="utf-8")
    with pytest.raises(NetworkError, match=message):
        load_definition(bad)
