"""The tables and figures of the four papers (``papers.yaml``)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@dataclass(frozen=True)
class Item:
    """One table, figure or section with figures; the fields are described at the head of ``papers.yaml``."""

    source: str
    name: str
    contents: str
    printed: str | None = None
    labels: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    needs: str = ""
    command: str = ""
    instead: str = ""
    remark: str = ""


@cache
def papers() -> Mapping[str, str]:
    """Title of each paper by its source."""
    return {source: paper["title"] for source, paper in _read().items()}


@cache
def items() -> tuple[Item, ...]:
    """All items, by paper and in printed order."""
    return tuple(
        _item(source, name, fields) for source, paper in _read().items() for name, fields in paper["items"].items()
    )


def _item(source: str, name: str, fields: Mapping[str, Any]) -> Item:
    lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    return Item(source, name, **{**fields, **lists})


@cache
def _read() -> dict:
    with files("tasks.reproduction").joinpath("papers.yaml").open(encoding="utf-8") as source:
        return yaml.load(source, Loader=yaml.CSafeLoader)
