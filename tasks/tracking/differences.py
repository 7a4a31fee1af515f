"""Inputs that differ between two lineages, changed stages, key figures and costs. Pure functions."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tasks.tracking.lineage import Lineage

_COLUMNS = ["kind", "name", "a", "b", "stages", "unchanged"]
REDRAW = r"roles\.\w+\.redraw"
"""Name of the param that draws other replies of the same model."""


def inputs(lineage: Lineage) -> dict[tuple[str, str], dict[str, str]]:
    """Inputs of a lineage: (kind, name) -> value or hash, by each stage that reads it.

    Kinds: code, identity, param, data. After a part of the stages ran, the others have the former value.
    """
    outs = {Path(out) for stage in lineage.stages for out in stage.outs}
    made = {path.as_posix() for out in outs for path in (out, *out.parents)}  # stages may read the folder of outputs
    found: dict[tuple[str, str], dict[str, str]] = {}
    for stage in lineage.stages:
        read = {
            (_kind(path), path): digest
            for path, digest in stage.deps.items()
            if path != "fingerprints"  # earlier lineages depend on the folder besides its files
            and (path not in made or _kind(path) == "identity")  # a stage writes them, but the endpoint decides
        }
        read |= {("param", name): str(value) for name, value in flatten(stage.params)}
        for key, value in read.items():
            found.setdefault(key, {})[stage.name] = value
    return found


def is_redraw(a: Lineage, b: Lineage) -> bool:
    """Whether ``b`` differs from ``a`` in the redraw number of a role only (params ``roles.<role>.redraw``)."""
    differing = differing_inputs(a, b)
    is_number = differing["name"].str.fullmatch(REDRAW) & (differing["kind"] == "param")
    return len(differing) > 0 and bool(is_number.all())


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
    """Inputs that differ: kind, name, value or hash in ``a`` and ``b`` (empty where absent), stages for which they do.

    ``unchanged``: the other stages that read them. Where both identities of a role are given, their differing fields
    replace the hashes.
    """
    of_a, of_b = inputs(a), inputs(b)
    of_roles_a, of_roles_b = identities_a or {}, identities_b or {}
    fields = {
        ("identity", f"fingerprints/{role}.json"): differing_fields(of_roles_a[role], of_roles_b[role])
        for role in {*of_roles_a} & {*of_roles_b}
    }
    rows = []
    for key in sorted({*of_a, *of_b}):
        by_a, by_b = of_a.get(key, {}), of_b.get(key, {})
        if differing := _differing(by_a, by_b):
            values = _values(by_a, differing), _values(by_b, differing)
            shown = fields.get(key, values) if by_a and by_b else values
            rows.append((*key, *shown, ", ".join(differing), ", ".join(sorted({*by_a, *by_b} - {*differing}))))
    return pd.DataFrame(rows, columns=_COLUMNS).astype("str")


def _differing(a: Mapping[str, str], b: Mapping[str, str]) -> list[str]:
    """Stages for which an input differs: which read another value in both, or a value that the other has nowhere."""
    shared = {*a.values()} & {*b.values()}
    both = {name for name in {*a} & {*b} if a[name] != b[name]}
    alone = {name for name in {*a} ^ {*b} if {**a, **b}[name] not in shared}
    return sorted(both | alone)


def _values(of: Mapping[str, str], stages: Collection[str]) -> str:
    """What these stages read, or all stages if these read nothing; several values if they do not agree."""
    return ", ".join(dict.fromkeys(of[name] for name in sorted({*of} & {*stages} or of)))


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


def stages_behind(lineage: Lineage) -> list[str]:
    """Stages that were not rebuilt after what they read: another stage, or one behind, has other outputs by now."""
    made = {path: (stage.name, digest) for stage in lineage.stages for path, digest in stage.outs.items()}
    found, before = set[str](), -1
    while len(found) > before:
        before = len(found)
        for stage in lineage.stages:
            read = [(*made[path], digest) for path, digest in stage.deps.items() if path in made]
            if any(maker in found or now != then for maker, now, then in read):
                found.add(stage.name)
    return sorted(found)


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
