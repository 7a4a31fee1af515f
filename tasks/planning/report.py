"""What a plan prints: the components and their shares, the alternatives, and how sure the cheapest is."""

from functools import partial
from math import isnan

import pandas as pd

from tasks.planning.components import RATER, Components, Pilot
from tasks.planning.designs import MOST, Design, Study
from tasks.planning.plan import Target, scaled, uncertainty

FEW = 20
"""Documents below which a pilot is called small."""
_NAMES = {"half_width": "half width", "half_width_other_raters": "of other raters", "smallest_difference": "smallest",
          "design_effect": "design effect"}  # fmt: skip
_FORMATS = {"dollars": "{:.2f}", "power": "{:.3f}", "design_effect": "{:.2f}"}


def lines(
    study: Study, target: Target, table: pd.DataFrame, pilot: Pilot | None, about: str, priced: str = ""
) -> list[str]:
    """The lines of a plan. ``about``: where the components are from; ``priced``: whose prices the dollars are."""
    return [
        about,
        *component_lines(study.components),
        _target(study, target),
        *([f"dollars: {priced}"] if priced else []),
        "",
        *table_lines(table),
        "",
        *_sure(study, target, table, pilot),
    ]


def component_lines(components: Components) -> list[str]:
    """Variance of each source with its share, and what was estimated below 0 or left out."""
    whole = sum(components.variances.values())
    parts = [f"{name} {value:.4g} ({value / whole:.0%})" for name, value in components.variances.items()]
    about = f", from {components.n} scores of {components.notes} notes" if components.notes else ""
    found = [f"variance: {', '.join(parts)}; mean {components.mean:.3f}{about}"]
    found += [f"{name}: estimated as {value:.3g}, counted as 0" for name, value in components.negative.items()]
    if components.unscored:
        share = components.unscored / (components.unscored + components.n)
        found.append(
            f"{components.unscored} rows without a score ({share:.1%}): plan for {1 / (1 - share):.2f} times the notes"
        )
    if components.unequal > 0:
        found.append(f"items of a note: squared coefficient of variation {components.unequal:.2f}")
    return found


def _target(study: Study, target: Target) -> str:
    parts = [] if target.half_width is None else [f"half width at most {target.half_width:g}"]
    if target.difference is not None:
        tests = f", one of {study.tests} tests at {study.level:.3g}" if study.tests > 1 else ""
        parts.append(f"a difference of {target.difference:g} found with power {target.power:g}{tests}")
    return f"target: {' and '.join(parts) or 'none; the numbers of notes that were given'}"


def table_lines(table: pd.DataFrame) -> list[str]:
    """The alternatives as aligned columns; empty ones are left out."""
    shown = [name for name in table if name == "dollars" or table[name].notna().any()]
    shown = [name for name in shown if name not in ("reached", "chosen")]
    rows = [[_NAMES.get(name, name) for name in shown] + [""]]
    for entry in table.to_dict("records"):
        cells = [_cell(name, entry[name], reached=bool(entry["reached"])) for name in shown]
        rows.append([*cells, "<- cheapest" if entry["chosen"] else "" if entry["reached"] else "not reached"])
    widths = [max(len(row[place]) for row in rows) for place in range(len(shown))]
    return ["  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
            for row in rows]  # fmt: skip


def _cell(name: str, value: float, *, reached: bool) -> str:
    if isnan(value):
        return "no price" if name == "dollars" and reached else "-"
    if name in ("notes", "questions", "takes", "raters", "judgements"):
        return f"{'>' if name == 'notes' and value == MOST and not reached else ''}{int(value)}"
    return _FORMATS.get(name, "{:.4f}").format(value)


def _sure(study: Study, target: Target, table: pd.DataFrame, pilot: Pilot | None) -> list[str]:
    """How far the cheapest plan may be off since its components are estimates."""
    chosen = table[table["chosen"]]
    found = ["design effect: variance over that of as many judgements, each of another note"]
    if RATER in study.components.variances:
        found.append("half width: with these raters; of other raters: for all raters like them")
    if chosen.empty:
        return [*found, *(["no design reaches the target"] if target.asked else [])]
    row = chosen.iloc[0]
    design = Design(*(int(row[name]) for name in ("notes", "questions", "takes", "raters")))
    value, low, high = uncertainty(study, design, pilot)
    if isnan(low):
        return [*found, "components were given: how sure they are is not known"]
    studies = [scaled(study, end / value) for end in (low, high)]
    ends = [one.notes_for(design, partial(target.reached, one)) for one in studies]
    needed = " to ".join(str(end or f"more than {MOST}") for end in ends)
    warning = f"; {study.components.notes} notes are few, pilot {FEW} or more" if study.components.notes < FEW else ""
    return [
        *found,
        f"variance of a note {value:.4g} (95% {low:.4g} to {high:.4g}, {study.components.notes} notes): "
        f"the {design.notes} notes may have to be {needed}{warning}",
    ]
