"""Two cards on the same cases, and what is required of one; tests as in `tasks.statistics.sign_flips`."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import hypergeom

from tasks.progress import number_of
from tasks.statistics.paired_verdicts import compared, right
from tasks.statistics.sign_flips import LEVEL, holm

KIND_LEVEL = 0.01
"""Level of all kinds of cases together, so that a card of a judge without a weakness has a finding in 6% at most."""
ALL = "all"
RATES = {"sensitivity": True, "specificity": False}
"""The primary figures of a comparison, by task, and the answer of the cases that each is of."""
ANSWERED = "has a verdict"
_COUNTS = ["size", "count", "sum"]


def fewest_texts(tests: int, level: float = LEVEL) -> int:
    """Texts without which no loss can be told from chance, when so many tests share the level."""
    return int(np.ceil(np.log2(max(tests, 1) / level)))


def weaker_kinds(cases: pd.DataFrame) -> pd.DataFrame:
    """Whether each kind is judged worse than the other cases of its task with the same answer: a row by task and kind.

    Columns n, unscored, others (share right of the others), others_n, others_unscored, p: Fisher's exact test on one
    side, of all rows together (Holm). A failed verdict counts as right in the kind and as wrong among the others. A
    kind without others is left out.
    """
    marked = cases[["metric", "kind", "truth"]].assign(
        right=right(cases, "value").to_numpy(dtype=float, na_value=np.nan)
    )
    counts = marked.groupby(["metric", "kind", "truth"], sort=True)["right"].agg(_COUNTS).reset_index()
    rows = []
    for (task, kind), own in counts.groupby(["metric", "kind"], sort=True):
        others = counts["metric"].eq(task) & counts["kind"].ne(kind) & counts["truth"].isin(own["truth"])
        (size, n, hits), (more, scored, found) = own[_COUNTS].sum(), counts.loc[others, _COUNTS].sum()
        if scored:
            p = float(hypergeom.sf(n - hits - 1, size + more, n - hits + more - found, size))
            about: dict[str, object] = {"task": task, "kind": kind, "n": int(n), "unscored": int(size - n)}
            about |= {"others": found / scored, "others_n": int(scored), "others_unscored": int(more - scored)}
            rows.append({**about, "p": p})
    columns = ["task", "kind", "n", "unscored", "others", "others_n", "others_unscored", "p"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(p=holm(table["p"].tolist()))


_KEYS = ["judge", "unit", "condition", "metric", "kind", "document", "text", "truth"]


def against(now: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """Judges' VERDICTS now and before on the same cases: a row by judge, task and kind or change.

    Judges are paired by their names; of two cards with one judge each, these two, so that models can be compared. Item:
    one of `RATES`, which are the primary figures and share `LEVEL`; or a kind, a change that must not matter, or
    `ANSWERED`, the share with any verdict, which share `KIND_LEVEL`. Columns judge, task, item, primary, n, unscored,
    before, now, low, high, p (adjusted for the figures of a judge that share its level, none for few texts), changed,
    undecided (only failed cases hide a change), few (too few texts for any change to be beyond chance). Raises
    ValueError if the cards share no judge or case, or too few texts to show a change of any rate.
    """
    names = [sorted(one["judge"].unique()) for one in (now, before)]
    if all(len(one) == 1 for one in names):
        before = before.assign(judge=names[0][0])
    elif not set(names[0]) & set(names[1]):
        raise ValueError(f"the cards have no judge in common: {', '.join(names[0])}; before: {', '.join(names[1])}")
    both = now.merge(before[[*_KEYS, "value"]], on=_KEYS, suffixes=("", "_before"))
    if both.empty:
        raise ValueError("the cards have no case in common; make both with the same --seed, --cases, --texts and --map")
    tables = []
    for judge, rows in both.groupby("judge", sort=True):
        found = _changes(rows)
        primary = found[found["primary"]]
        if primary["few"].all():
            asked = now[(now["judge"] == judge) & (now["condition"] == "")]
            common, size = (len({*one.loc[one["condition"] == "", "unit"]}) for one in (rows, asked))
            remedy = "make both with the same --seed, --cases, --texts and --map"
            raise ValueError(
                f"{common} of {size} cases are in both cards; to tell a change of a rate from chance takes cases of it "
                f"from {fewest_texts(2)} texts, and more for several rates; "
                f"{remedy if common < size else 'make both of more texts'}"
            )
        tables.append(found.assign(judge=judge))
    return pd.concat(tables, ignore_index=True)


def _changes(both: pd.DataFrame) -> pd.DataFrame:
    pairs = both.assign(first=right(both, "value_before"), second=right(both, "value"))
    primary: list[tuple[str, str, pd.DataFrame]] = []
    further: list[tuple[str, str, pd.DataFrame]] = []
    for task, rows in pairs.groupby("metric", sort=True):
        plain = rows[rows["condition"] == ""]
        sides = [(name, plain[plain["truth"] == truth]) for name, truth in RATES.items()]
        primary += [(str(task), name, side) for name, side in sides if len(side)]
        answered = plain.assign(**{c: plain[c].notna().astype("Float64") for c in ("first", "second")})
        further.append((str(task), ANSWERED, answered))
        further += [(str(task), str(kind), one) for kind, one in plain.groupby("kind", sort=True)]
        further += [
            (str(task), str(name), one) for name, one in rows[rows["condition"] != ""].groupby("condition", sort=True)
        ]
    tables = [_tested(primary, LEVEL).assign(primary=True), _tested(further, KIND_LEVEL).assign(primary=False)]
    return pd.concat(tables, ignore_index=True)


def _tested(groups: Sequence[tuple[str, str, pd.DataFrame]], level: float) -> pd.DataFrame:
    """The changes of figures that share a level; those of too few texts for any change to be told do not share it."""
    found = [compared(rows["first"], rows["second"], rows["document"]) for _, _, rows in groups]
    told = _enough([rows["document"].nunique() for _, _, rows in groups], level)
    table = pd.DataFrame(
        {"task": task, "item": item, "n": one.n, "unscored": one.unscored, "before": means["first"],
         "now": means["second"], "low": one.interval[1], "high": one.interval[2]}
        for (task, item, rows), one in zip(groups, found, strict=True)
        for means in [rows[["first", "second"]].dropna().astype(float).mean()]  # as the interval has them
    )  # fmt: skip
    p, scored = np.full((2, len(found)), np.nan)
    for adjusted, name in ((p, "p"), (scored, "p_scored")):
        adjusted[told] = holm([getattr(one, name) for one, enough in zip(found, told, strict=True) if enough])
    return table.assign(p=p, changed=p < level, few=~told, undecided=~(p < level) & (scored < level))


def _enough(texts: Sequence[int], level: float) -> npt.NDArray[np.bool_]:
    """Which figures of so many texts can be told from chance when all such share the level (Tarone 1990)."""
    of = np.array(texts)
    sizes = (size for size in range(1, len(of) + 1) if (of >= fewest_texts(2 * size, level)).sum() <= size)
    return of >= fewest_texts(2 * next(sizes, 1), level)


def change_lines(changes: pd.DataFrame) -> tuple[list[str], list[str]]:
    """What got worse, and what else is to be said: that nothing did, what got better, and what failed cases hide."""
    worse, other = [], []
    decided = changes[~changes["few"] & ~changes["undecided"]]
    for row in changes.to_dict("records"):
        shares = ["-" if pd.isna(row[end]) else f"{row[end]:.3f}" for end in ("before", "now")]
        what = f"{row['judge']}, {row['task']}, {row['item']}: {' -> '.join(shares)}, n {row['n']}"
        if row["undecided"]:
            other.append(f"cannot be told: {what}; failed cases decide (n {row['unscored']})")
        elif row["changed"] and row["now"] < row["before"]:
            worse.append(f"worse than the earlier card: {what}")
        elif row["changed"]:
            other.append(f"better than the earlier card: {what}")
    if not worse:
        compared_rates = int(decided["primary"].sum())
        further = number_of(len(decided) - compared_rates, "further figure")
        said = f"{number_of(compared_rates, 'rate')} and {further} compared"
        other.insert(0, f"not worse than the earlier card beyond chance: {said}")
    few = changes[changes["few"]]
    if len(few):
        whole = changes[changes["primary"]].groupby("task")["few"].all()
        named = f" ({', '.join(whole.index[whole])} as a whole)" if whole.any() else ""
        other.append(f"too few texts to tell: {number_of(len(few), 'figure')}{named}")
    return worse, other


MET, MISSED, OPEN = "met", "missed", "open"


def requirements(
    card: pd.DataFrame, required: Mapping[str, float], factors: Mapping[str, Sequence[str]]
) -> list[tuple[str, str]]:
    """Whether each judge meets what is required of it, a pair of `MET`, `MISSED` or `OPEN` and a line for each row.

    Required are least values of metrics for every task, and the most that a change may cost. The whole interval says
    what is met or missed; else it is open. ``factors``: changes by the name under which a requirement has them. What
    was not measured is missed.
    """
    found = []
    whole = card[(card["item"] == ALL) & ~card["condition"].str.startswith("against ")]
    changes = whole["condition"].str.partition(": ")[2]
    for name, limit in required.items():
        if name in factors:
            tested = whole["metric"].isin(["loss_of_accuracy", "gain_of_yes"])
            rows, said = whole[tested & changes.isin(factors[name])], "at most"
        else:
            rows, said = whole[(whole["metric"] == name) & (changes == "")], "at least"
        for row in rows.to_dict("records"):
            low, high, least = row["low"], row["high"], limit
            if row["metric"] == "gain_of_yes":  # yes gained or lost, either way
                low, high = max(low, -high), max(high, -low)
            if name in factors:
                low, high, least = -high, -low, -limit
            state = MET if low >= least else MISSED if high < least else OPEN
            value = f"{row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f})" if row["n"] else "not known"
            line = f"{row['system']}, {row['condition']}: {name} {value}, n {row['n']}; {said} {limit:g}"
            found.append((state, line))
        if rows.empty:
            found.append((MISSED, f"{name}: not measured"))
    return found
