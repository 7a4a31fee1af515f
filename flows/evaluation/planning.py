"""`vignette plan`: variance components from a pilot, from a printed table, or given."""

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any

import pandas as pd

from flows.repository.workspace import root
from schemas.errors import ParamsError, SourceError, did_you_mean
from tasks.planning.components import SOURCES, Components, Pilot, deviations, differences
from tasks.planning.plan import from_interval
from tasks.statistics.intervals import Bounds
from tasks.texts.files import read_rows

FIELDS = ("document", "score", "question", "take", "rater", "system")
ALIASES = {"value": "score"}
"""Columns of the product's own tables that are read under another name."""
_YES_NO = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


def read_pilot(file: Path, columns: Mapping[str, str], where: Mapping[str, str], bounds: Bounds | None) -> Pilot:
    """The scored rows of a pilot file. ``columns``: column of a field; ``where``: values that kept rows have.

    Raises SourceError for a missing column, a score that is no number or out of bounds, and a judgement listed twice.
    """
    every = read_rows(file).rows
    wanted = {name: value.lower() for name, value in where.items()}
    rows = [one for one in every if all(_text(one.values.get(k)).lower() == v for k, v in wanted.items())]
    if not rows:
        chosen = " and ".join(f"{key} {value}" for key, value in where.items())
        raise SourceError(f"{file}: no row" + (f" with {chosen}; check --where" if where else "; expected rows"))
    held = list(dict.fromkeys(name for row in rows for name in row.values))
    aliases = {field: name for name, field in ALIASES.items() if field not in held}
    named = {field: columns.get(field, aliases.get(field, field)) for field in FIELDS}
    kept = [field for field in FIELDS if named[field] in held]
    if lacking := [named[field] for field in ("document", "score", *columns) if field not in kept]:
        raise SourceError(f"{file}: no column {lacking[0]}; found {', '.join(held)}; name it with --map FIELD=COLUMN")
    table = pd.DataFrame([{field: _text(row.values.get(named[field])) for field in kept} for row in rows])
    table["score"] = [_score(row.place, text, bounds) for row, text in zip(rows, table["score"], strict=True)]
    keys = [field for field in kept if field != "score"]
    if "take" in kept and (twice := table.duplicated(keys).to_numpy().nonzero()[0].tolist()):
        entry = ", ".join(f"{key} {table.loc[twice[0], key]}" for key in keys)
        raise SourceError(f"{rows[twice[0]].place}: {entry} is listed twice; expected once")
    scored = table.dropna(subset="score").reset_index(drop=True)
    if scored.empty:
        raise SourceError(f"{file}: none of {len(table)} rows has a score in column {named['score']}")
    return Pilot(scored, len(table) - len(scored))


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _score(place: str, text: str, bounds: Bounds | None) -> float:
    """The score, nan for an empty cell."""
    word = text.strip().lower()
    if not word:
        return nan
    try:
        found = _YES_NO[word] if word in _YES_NO else float(word)
    except ValueError as error:
        raise SourceError(f"{place}: score {text[:60]!r}; expected a number, true or false, or nothing") from error
    if not isfinite(found) or (bounds is not None and not bounds[0] <= found <= bounds[1]):
        limits = "a finite number" if bounds is None else f"{bounds[0]:g} to {bounds[1]:g}"
        raise SourceError(f"{place}: score {found:g}; expected {limits}; see --bounds")
    return found


def of_systems(
    pilot: Pilot, file: Path, system: str | None, pair: Sequence[str] | None, *, independent: bool
) -> tuple[Components, Pilot, str]:
    """The components that a study is planned from, the rows of the pilot behind them, and their description.

    ``pair``: two systems that are compared, which may be empty where the pilot has no others; None for a study of one.
    Raises ParamsError for systems that the pilot lacks, SourceError if its rows allow no estimate.
    """
    held = sorted(pilot.rows["system"].unique()) if "system" in pilot.rows else []
    if pair is None or system is not None or not (pair or len(held) > 1):
        rows, about = _one_system(pilot, system, held, file), file.name
    elif not held:
        raise ParamsError(f"--systems: {file} has no column system; name it with --map system=COLUMN")
    else:
        rows, said = _compared(pilot, pair, held, file, independent=independent)
        about = f"{file.name}: {said}"
    try:
        return rows.components(), rows, about
    except ValueError as error:
        raise SourceError(f"{file}: {error}") from error


def _compared(
    pilot: Pilot, pair: Sequence[str], found: Sequence[str], file: Path, *, independent: bool
) -> tuple[Pilot, str]:
    """Differences of two systems of a pilot, or deviations from each one's mean, and a description of them."""
    if not pair and len(found) != 2:
        raise ParamsError(f"{file}: {len(found)} systems, {', '.join(found)}; choose two with --systems A,B")
    first, second = pair or found
    if unknown := [name for name in (first, second) if name not in found]:
        raise ParamsError(
            f"--systems: {file} has no system {unknown[0]}; found {', '.join(found)}{did_you_mean(unknown[0], found)}"
        )
    if independent:
        about = f"both {first} and {second}, on different notes"
        return Pilot(deviations(pilot.rows, first, second), pilot.unscored, paired=True), about
    rows, alone = differences(pilot.rows, first, second)
    if rows.empty:
        raise SourceError(f"{file}: {first} and {second} have no scored document in common")
    about = f"differences {second} - {first}; {alone} scored rows without a pair are left out"
    return Pilot(rows, pilot.unscored, paired=True), about


def _one_system(pilot: Pilot, system: str | None, found: Sequence[str], file: Path) -> Pilot:
    """The rows of one system; of the only one where none is named."""
    if not found:
        return pilot
    if system is None and len(found) > 1:
        raise ParamsError(f"{file}: {len(found)} systems, {', '.join(found)}; choose one with --system")
    chosen = system or found[0]
    if chosen not in found:
        raise ParamsError(f"--system {chosen}: not in {file}; found {', '.join(found)}{did_you_mean(chosen, found)}")
    return Pilot(pilot.rows[pilot.rows["system"] == chosen].drop(columns="system"), pilot.unscored)


def of_table(name: str, keys: Mapping[str, str], bounds: Bounds | None) -> tuple[Components, str]:
    """The components behind the one row of a table of reports/tables with these ``keys``, and its description."""
    folder = root() / "reports" / "tables"
    file = folder / f"{name}.csv"
    if name not in (known := sorted(one.stem for one in folder.glob("*.csv"))):
        raise ParamsError(
            f"--table {name}: no such table; expected one of {', '.join(known)}{did_you_mean(name, known)}"
        )
    table = pd.read_csv(file)
    if "low" not in table:
        raise ParamsError(f"--table {name}: has no intervals; expected a table of metrics")
    for key, value in keys.items():
        if value not in (held := sorted(table[key].astype(str).unique())):
            raise ParamsError(f"--{key} {value}: not in {file.name}; found {', '.join(held[:20])}")
        table = table[table[key].astype(str) == value]
    if len(table) != 1:
        choices = {key: sorted(table[key].astype(str).unique()) for key in ("metric", "system", "condition", "item")}
        open_ = "; ".join(f"--{key} {', '.join(held[:6])}" for key, held in choices.items() if len(held) > 1)
        raise ParamsError(f"{file.name}: {len(table)} rows; choose one with {open_}")
    row = table.iloc[0]
    about = f"{file.name}: {row['metric']} of {row['system']}, {row['condition']}: {row['value']:.3f}, n {row['n']}"
    try:
        found = from_interval(row["value"], row["low"], row["high"], int(row["n"]), bounds)
        return found, f"{about}, which are taken for its notes"
    except ValueError as error:
        raise SourceError(f"{about}: {error}") from error


def given(text: str, mean: float) -> Components:
    """Components that are given as note=0.02,question=0.1,take=0.05."""
    found = {}
    for entry in text.split(","):
        name, _, value = (part.strip() for part in entry.partition("="))
        name = name.replace("_", " ")
        try:
            found[name] = float(value)
        except ValueError as error:
            raise ParamsError(f"--components {entry}: expected NAME=VARIANCE, such as note=0.02") from error
        if name not in SOURCES or not 0 <= found[name] < float("inf"):
            raise ParamsError(f"--components {entry}: expected a variance from 0 up of {', '.join(SOURCES)}")
    if not any(value for name, value in found.items() if name != "rater"):
        raise ParamsError(f"--components {text}: nothing varies; expected a variance above 0")
    return Components(mean, {name: found[name] for name in SOURCES if name in found})
