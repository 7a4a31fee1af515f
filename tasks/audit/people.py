"""How judges agree with people, and people among themselves, side by side: for the terminal and the page of a card."""

from typing import Any

import pandas as pd

from tasks.audit.people_agreement import ALL, MAJORITY, PEOPLE
from tasks.audit.people_sets import FURTHER

_AGAINST = ", against "
_RATES = ("sensitivity", "specificity")


def agreement_view(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """METRICS of `tasks.audit.people_agreement` for pages: a row of each two, its kappa with both rates.

    Those of judges come before those of people among themselves, for each of what is asked of a unit.
    """
    key = ["system", "condition", "item"]
    rates = {name: own.set_index(key)["value"] for name, own in rows.groupby("metric") if name in _RATES}
    found = []
    for row in rows[rows["metric"] == "kappa"].to_dict("records"):
        asked, _, against = row["item"].rpartition(_AGAINST)
        of = {name: values.get(tuple(row[one] for one in key)) for name, values in rates.items()}
        people = row["condition"] in (PEOPLE, *FURTHER)
        found.append({**row, **of, "asked": asked, "against": against, "people": people})
    return sorted(found, key=lambda row: (row["asked"], row["people"]))


def agreement_lines(rows: pd.DataFrame) -> list[str]:
    """A line for each judge and what is asked: kappa by reading with all people, and theirs among themselves."""
    lines: list[str] = []
    if rows.empty:
        return lines
    for asked, own in pd.DataFrame(agreement_view(rows)).groupby("asked", sort=False):
        together = next((one for one in (MAJORITY, ALL) if one in set(own["against"])), None)
        pairs = own.loc[own["condition"] == PEOPLE, "value"].dropna()
        among = f"; people in pairs {pairs.min():.2f} to {pairs.max():.2f}" if len(pairs) else ""
        judges = own[~own["people"]]
        chosen = judges if together is None else judges[judges["against"] == together]
        whom = {MAJORITY: "the majority of people", ALL: "people", None: ""}[together]
        for judge, found in chosen.groupby("system", sort=True):
            said = [f"{one['condition']}{_against(one, together)} {_kappa(one)}" for one in found.to_dict("records")]
            lines.append(f"{judge}: {asked}: kappa {f'with {whom}: ' if whom else ''}{', '.join(said)}{among}")
    return lines


def _against(row: dict[str, Any], together: str | None) -> str:
    return f" with {row['against']}" if together is None else ""


def _kappa(row: dict[str, Any]) -> str:
    failed = f", unscored {row['unscored']}" if row["unscored"] else ""
    if pd.isna(row["value"]):
        return f"not defined (n {row['n']}{failed})"
    ends = "no interval" if pd.isna(row["low"]) else f"{row['low']:.2f} to {row['high']:.2f}"
    return f"{row['value']:.2f} ({ends}, n {row['n']}{failed})"
