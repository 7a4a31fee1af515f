"""Which inputs of two lineages differ, and which stages changed for it. Pure."""

from collections.abc import Iterator

import pandas as pd

from tasks.tracking.lineage import Lineage

_COLUMNS = ["kind", "name", "a", "b", "stages"]


def inputs(lineage: Lineage) -> dict[tuple[str, str], str]:
    """What a lineage was made from: (kind, name) -> value or hash. Kinds: code, identity, param, data."""
    made = {path for stage in lineage.stages for path in stage.outs}
    found: dict[tuple[str, str], str] = {}
    for stage in lineage.stages:
        found |= {(_kind(path), path): digest for path, digest in stage.deps.items() if path not in made}
        found |= {("param", name): str(value) for name, value in flatten(stage.params)}
    return found


def flatten(params: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Nested params as dotted names with their values."""
    for key, value in params.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def differing_inputs(a: Lineage, b: Lineage) -> pd.DataFrame:
    """Inputs that differ: kind, name, value or hash in ``a`` and ``b`` (empty where absent), stages that read them."""
    of_a, of_b = inputs(a), inputs(b)
    rows = [
        (*key, of_a.get(key, ""), of_b.get(key, ""), ", ".join(_readers(key, b) or _readers(key, a)))
        for key in sorted(set(of_a) | set(of_b))
        if of_a.get(key) != of_b.get(key)
    ]
    return pd.DataFrame(rows, columns=_COLUMNS).astype("str")


def changed_stages(a: Lineage, b: Lineage) -> pd.DataFrame:
    """Stages whose outputs differ: name, and which of their outputs changed, appeared or went."""
    of_a, of_b = ({stage.name: stage.outs for stage in lineage.stages} for lineage in (a, b))
    rows = []
    for name in sorted(set(of_a) | set(of_b)):
        outs_a, outs_b = of_a.get(name, {}), of_b.get(name, {})
        changed = sorted(path for path in set(outs_a) | set(outs_b) if outs_a.get(path) != outs_b.get(path))
        if changed:
            rows.append((name, ", ".join(changed)))
    return pd.DataFrame(rows, columns=["stage", "outputs"]).astype("str")


def _kind(path: str) -> str:
    if path.startswith("fingerprints/"):
        return "identity"
    return "code" if path.startswith(("flows", "tasks", "schemas")) else "data"


def _readers(key: tuple[str, str], lineage: Lineage) -> list[str]:
    kind, name = key
    if kind == "param":
        return [stage.name for stage in lineage.stages if name in dict(flatten(stage.params))]
    return [stage.name for stage in lineage.stages if name in stage.deps]
