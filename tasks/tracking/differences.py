"""Inputs that differ between two lineages, changed stages, key figures and costs. Pure functions."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tasks.tracking.lineage import Lineage

_COLUMNS = ["kind", "name", "a", "b", "stages"]
REDRAW = r"roles\.\w+\.redraw"
"""Name of the param that draws other replies of the same model."""


def inputs(lineage: Lineage) -> dict[tuple[str, str], str]:
    """Inputs of a lineage: (kind, name) -> value or hash. Kinds: code, identity, param, data."""
    outs = {Path(out) for stage in lineage.stages for out in stage.outs}
    made = {path.as_posix() for out in outs for path in (out, *out.parents)}  # stages may read the folder of outputs
    found: dict[tuple[str, str], str] = {}
    for stage in lineage.stages:
        found |= {
            (_kind(path), path): digest
            for path, digest in stage.deps.items()
            if path != "fingerprints"  # earlier lineages depend on the folder besides its files
            and (path not in made or _kind(path) == "identity")  # a stage writes them, but the endpoint decides
        }
        found |= {("param", name): str(value) for name, value in flatten(stage.params)}
    return found


def is_redraw(a: Lineage, b: Lineage) -> bool:
    """Whether ``b`` differs from ``a`` in the redraw number of a role only (params ``roles.<role>.redraw``)."""
    of_a, of_b = inputs(a), inputs(b)
    names = {key for key in {*of_a, *of_b} if of_a.get(key) != of_b.get(key)}
    return bool(names) and all(kind == "param" and re.fullmatch(REDRAW, name) for kind, name in names)


def flatten(params: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Nested params as dotted names with their values."""
    for key, value in params.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


Identities = Mapping[str, Mapping[str, Any]]
"""Fingerprint of each role: identity and epoch."""


def differing_inputs(
    a: Lineage, b: Lineage, identities_a: Identities | None = None, identities_b: Identities | None = None
) -> pd.DataFrame:
    """Inputs that differ: kind, name, value or hash in ``a`` and ``b`` (empty where absent), stages that read them.

    Where both identities of a role are given, their differing fields replace the hashes.
    """
    of_a, of_b = inputs(a), inputs(b)
    for role in set(identities_a or {}) & set(identities_b or {}):
        key = ("identity", f"fingerprints/{role}.json")
        if key in of_a and key in of_b and of_a[key] != of_b[key]:
            assert identities_a is not None and identities_b is not None
            of_a[key], of_b[key] = differing_fields(identities_a[role], identities_b[role])
    rows = [
        (*key, of_a.get(key, ""), of_b.get(key, ""), ", ".join(_readers(key, b) or _readers(key, a)))
        for key in sorted(set(of_a) | set(of_b))
        if of_a.get(key) != of_b.get(key)
    ]
    return pd.DataFrame(rows, columns=_COLUMNS).astype("str")


def differing_fields(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, str]:
    """Fields in which two fingerprints differ, as text; a fixed text if only the canary replies differ."""
    fields_a, fields_b = ({**side["identity"], "epoch": side["epoch"]} for side in (a, b))
    names = [name for name in sorted({*fields_a, *fields_b}) if fields_a.get(name) != fields_b.get(name)]
    if not names:
        return ("same identity", "other canary replies")
    said = []
    for fields in (fields_a, fields_b):
        texts = {name: str(fields.get(name, "absent")) for name in names}
        short = (f"{name} {f'{text[:10]}…' if len(text) == 64 else text}" for name, text in texts.items())  # a SHA-256
        said.append(", ".join(short))
    return said[0], said[1]


def changed_stages(a: Lineage, b: Lineage) -> pd.DataFrame:
    """Stages whose outputs differ: name, and outputs that were changed, added or removed."""
    of_a, of_b = ({stage.name: stage.outs for stage in lineage.stages} for lineage in (a, b))
    rows = []
    for name in sorted(set(of_a) | set(of_b)):
        outs_a, outs_b = of_a.get(name, {}), of_b.get(name, {})
        changed = sorted(path for path in set(outs_a) | set(outs_b) if outs_a.get(path) != outs_b.get(path))
        if changed:
            rows.append((name, ", ".join(changed)))
    return pd.DataFrame(rows, columns=["stage", "outputs"]).astype("str")


Figure = tuple[float, float, float]
"""A value with its 95% interval, NaN where it has none."""
_ABSENT = (np.nan, np.nan, np.nan)


def figure_table(a: Mapping[str, Figure], b: Mapping[str, Figure]) -> pd.DataFrame:
    """Key figures of two lineages in the order of ``b``: name, value and interval in ``a`` and ``b``, NaN where absent.

    ``apart``: the intervals have no value in common.
    """
    rows = []
    for name in dict.fromkeys([*b, *a]):
        (value_a, low_a, high_a), (value_b, low_b, high_b) = a.get(name, _ABSENT), b.get(name, _ABSENT)
        apart = high_a < low_b or high_b < low_a
        rows.append((name, value_a, low_a, high_a, value_b, low_b, high_b, apart))
    return pd.DataFrame(rows, columns=["name", "a", "low_a", "high_a", "b", "low_b", "high_b", "apart"])


def cost_table(a: Mapping[str, float], b: Mapping[str, float]) -> pd.DataFrame:
    """Cost of each stage in two lineages: stage, then calls, tokens and dollars of ``a`` and of ``b``.

    NaN for a lineage of which none is known.
    """
    stages = sorted({name.split(".")[0] for name in (*a, *b)})
    rows = [(stage, *_cost(a, stage), *_cost(b, stage)) for stage in stages]
    return pd.DataFrame(rows, columns=["stage", *(f"{what}_{side}" for side in "ab" for what in COST)])


COST = ("calls", "tokens", "dollars")


def _cost(costs: Mapping[str, float], stage: str) -> tuple[float, float, float]:
    if not costs:
        return np.nan, np.nan, np.nan
    sent, received = (costs.get(f"{stage}.{kind}_tokens", 0.0) for kind in ("prompt", "completion"))
    return costs.get(f"{stage}.calls", 0.0), sent + received, costs.get(f"{stage}.dollars", 0.0)


def _kind(path: str) -> str:
    if path.startswith("fingerprints/code/"):
        return "code"
    if path.startswith("fingerprints"):
        return "identity"
    return "code" if path.startswith(("flows", "tasks", "schemas")) else "data"


def _readers(key: tuple[str, str], lineage: Lineage) -> list[str]:
    kind, name = key
    if kind == "param":
        return [stage.name for stage in lineage.stages if name in dict(flatten(stage.params))]
    return [stage.name for stage in lineage.stages if name in stage.deps]
