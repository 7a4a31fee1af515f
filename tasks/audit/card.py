"""The figures of a card, from a judge's verdicts: validity, repeatability, invariance, and judges side by side.

Verdicts on claims of one text are a cluster. What should not matter is tested by the difference in right answers
between a case and its variant (`tasks.statistics.paired_verdicts`), with p-values adjusted for all changes. A loss is
tested on one side. The place of a claim in its call is tested on both, by the yes answers to claims that stand earlier
in one order than in its reverse.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tasks.audit.cases import AGAIN, FACTORS, FAMILY, HIDDEN, LONGER, NAMES, REVERSED
from tasks.audit.comparisons import ALL, KIND_LEVEL, fewest_texts, weaker_kinds
from tasks.audit.errors import VERSION
from tasks.audit.trials import ASKED
from tasks.judges.cases import Asked
from tasks.judges.rates import rate_rows
from tasks.llm.costs import Used
from tasks.reporting.display import percent, words
from tasks.reporting.evaluation_text import DRY_RUN, RULES
from tasks.statistics.metric_rows import Row, balanced_accuracy, bounds_rows, mean_row, metric_row, metric_table
from tasks.statistics.paired_verdicts import Compared, agreement, compared, right, tested_rows
from tasks.statistics.sign_flips import LEVEL, holm

STAGE = "audit"
UNSTEADY = 0.02
"""Share of answers that change when asked again, which is a finding where the interval lies above it."""
ENOUGH = 30
"""Cases of a kind, below which the card names it."""
NAMED = 12
"""Most such kinds that are named one by one."""
EARLIER = "earlier in the call"
FIRST = "first of two versions"
OTHERS = "others_judged_rightly"
"""Share right of the cases of the other kinds of a task, with the same answer."""
FEWEST_OF_CORRELATION = 30
"""Fewest texts in which sensitivity and specificity that vary against each other narrow the interval of their mean."""
METRIC_NAMES = ("sensitivity", "specificity", "balanced_accuracy", "answered")
"""Metrics that a requirement may name."""
CHANGE_NAMES: Mapping[str, Sequence[str]] = {
    "injection": HIDDEN,
    "length": tuple(LONGER),
    "family": FAMILY,
    "names": NAMES,
    **{factor.replace(" ", "_"): (factor,) for factor in (*FACTORS, EARLIER, FIRST)},
}
"""Changes by the name under which a requirement has them: groups, and each in the words of the page."""


PER = 1000
"""Verdicts that tokens, dollars and seconds are given for."""
CONDITION = "practice"


@dataclass(frozen=True)
class Practice:
    """``verdicts`` of a judge, the ``calls`` that asked for them, the replies ``used``, and ``seconds`` in all.

    Replies that were kept from an earlier run count in ``used``, and take no time. ``failures``: calls by the reason
    why they have no usable reply.
    """

    verdicts: int
    calls: int
    used: Used
    seconds: float
    failures: Mapping[str, int] = field(default_factory=dict)


def practice_rows(practice: Practice, **shared: Any) -> list[Row]:
    """Share of calls with a usable reply, and tokens, dollars and seconds for `PER` verdicts."""
    keys: Row = {"condition": CONDITION, "item": "all", **shared}
    factor, used = PER / max(practice.verdicts, 1), practice.used
    sums = {"tokens_sent": used.prompt_tokens, "tokens_received": used.completion_tokens, "dollars": used.dollars,
            "seconds": practice.seconds}  # fmt: skip
    failed = sum(practice.failures.values())
    usable = np.repeat([1.0, 0.0], [practice.calls - failed, failed])
    rows = [mean_row("usable_replies", usable, **keys)] if practice.calls else []
    return rows + [
        metric_row(f"{name}_per_{PER}_verdicts", factor * value, n=practice.verdicts, **keys)
        for name, value in sums.items()
    ]


def card_table(verdicts: pd.DataFrame, practice: Mapping[str, Practice] | None = None, *, seed: int) -> pd.DataFrame:
    """METRICS of VERDICTS. Condition: task, and for a variant the factor; item: kind or "all".

    ``practice``: what the verdicts took, by judge.
    """
    rows: list[Row] = []
    for judge, own in verdicts.groupby("judge", sort=True):
        made_by = f"{DRY_RUN}; judge: {judge}" if RULES in str(judge) else f"judge: {judge}"
        shared: dict[str, Any] = {"system": judge, "provenance": made_by}
        cases = own[own["condition"] == ""]
        for _, group in cases.groupby("metric", sort=True):
            rows += _validity(group, seed=seed, **shared)
        rows += kind_rows(cases, **shared)
        rows += repeatability_rows(own, **shared)
        rows += invariance_rows(own, **shared)
        if practice and judge in practice:
            rows += practice_rows(practice[str(judge)], **shared)
    plain, judges = verdicts[verdicts["condition"] == ""], sorted(verdicts["judge"].unique())
    rows += agreement(plain, judges, ALL)
    return metric_table(rows, stage=STAGE, seed=seed)


def _validity(cases: pd.DataFrame, *, seed: int, **shared: Any) -> list[Row]:
    """`rate_rows` of a task, balanced accuracy, the share with a verdict, and the number of texts.

    ``texts``, for all cases and for those of each rate and kind: number of texts that the judged cases come from; the
    intervals take the cases of a text as a cluster.
    """
    scored = cases.dropna(subset="value")
    task = cases["metric"].iloc[0]
    about: Row = {"condition": task, "item": ALL, "unscored": len(cases) - len(scored), **shared}
    share = mean_row("answered", cases["value"].notna(), clusters=cases["document"], **{**about, "unscored": 0})
    rates = [row for row in rate_rows(cases, seed=seed, **shared) if not row["metric"].startswith("precision")]
    if scored.empty:
        return [*(row for row in rates if row["item"] == ALL), share]
    truth, texts = scored["truth"].to_numpy(bool), scored["document"]
    value, low, high = balanced_accuracy(truth, scored["value"], texts.to_numpy())
    if texts.nunique() < FEWEST_OF_CORRELATION:  # where the correlation of both rates may be chance
        apart = texts + scored["truth"].astype(str)
        _, least, most = balanced_accuracy(truth, scored["value"], apart.to_numpy())
        low, high = min(low, least), max(high, most)
    rows = [*rates, share, metric_row("balanced_accuracy", value, low, high, n=len(scored), **about)]
    sides = {"texts": texts, "sensitivity_texts": texts[truth], "specificity_texts": texts[~truth]}
    rows += [metric_row(name, float(one.nunique()), n=len(one), **about) for name, one in sides.items()]
    for kind, group in cases.groupby("kind", sort=True):
        of = group.loc[group["value"].notna(), "document"]
        keys: Row = {**about, "item": kind, "unscored": len(group) - len(of)}
        rows.append(metric_row("texts", float(of.nunique()), n=len(of), **keys))
    return rows


def kind_rows(cases: pd.DataFrame, **shared: Any) -> list[Row]:
    """For each kind: share right of the others with the same answer, and p that it is judged no worse."""
    rows: list[Row] = []
    for one in weaker_kinds(cases).to_dict("records"):
        keys: Row = {"condition": one["task"], "item": one["kind"], **shared}
        rows += [
            metric_row(OTHERS, one["others"], n=one["others_n"], unscored=one["others_unscored"], **keys),
            metric_row("p_value_adjusted", one["p"], n=one["n"], unscored=one["unscored"], **keys),
        ]
    return rows


def repeatability_rows(own: pd.DataFrame, **shared: Any) -> list[Row]:
    """Share of pairs of takes of the same call whose answers differ; none without further takes."""
    again = own[own["condition"].str.startswith(AGAIN)]
    rows = []
    for task, group in again.groupby("metric", sort=True):
        takes = pd.concat([own[(own["condition"] == "") & own["unit"].isin(group["unit"])], group])
        wide = takes.pivot(index="unit", columns="condition", values="value")
        scored = wide.dropna().astype(float)
        document = takes.drop_duplicates("unit").set_index("unit")["document"].reindex(scored.index)
        yes, k = scored.sum(axis=1).to_numpy(), scored.shape[1]
        differ = 2 * yes * (k - yes) / (k * (k - 1))
        keys: Row = {"condition": f"{task}, {k} takes", "item": ALL, "unscored": len(wide) - len(scored)}
        row = mean_row("changed_when_asked_again", differ, clusters=document.to_numpy(), **keys, **shared)
        texts = metric_row(f"{row['metric']}_texts", float(document.nunique()), n=len(scored), **keys, **shared)
        rows += [row, *bounds_rows(row), texts]
    return rows


def invariance_rows(own: pd.DataFrame, **shared: Any) -> list[Row]:
    """For each change: share of verdicts that change, loss of right answers with its interval, and adjusted p.

    Item "all"; ``n`` counts the cases that were judged both ways, ``unscored`` the others, at whose worst the interval
    and the p-value hold; ``p_value_scored`` leaves them out. ``texts``: how many texts the cases are of. Two
    changes have ``gain_of_yes`` in place of the loss. For the order of claims it is how much more often a claim is
    accepted when it stands earlier, for two versions how much more often the right one is chosen when it comes first.
    """
    base = own[own["condition"] == ""].set_index("unit")
    varied = own[(own["condition"] != "") & ~own["condition"].str.startswith(AGAIN)]
    found: list[tuple[str, str, Compared, pd.DataFrame]] = []
    for factor, variant in varied.groupby("condition", sort=True):
        both = variant.set_index("unit").join(base[["value", "item"]], rsuffix="_before")
        about = f"{variant['metric'].iloc[0]}: "
        loss = compared(right(both, "value"), right(both, "value_before"), both["document"], one_sided=True)
        found.append((f"{about}{factor}", "loss_of_accuracy", loss, both))
        moved = both[both["item"] != both["item_before"]]
        if factor == REVERSED and len(moved):
            first = moved["item"].astype(int) < moved["item_before"].astype(int)
            early = moved["value"].where(first, moved["value_before"])
            late = moved["value_before"].where(first, moved["value"])
            gain = compared(late, early, moved["document"])
            found.append((f"{about}{EARLIER}", "gain_of_yes", gain, moved))
    versions = own[own["metric"] == VERSION].pivot(index="document", columns="truth", values="value")
    if len(versions):
        both = pd.DataFrame({"value": versions[1.0], "value_before": 1 - versions[0.0]}).reset_index()
        gain = compared(both["value_before"], both["value"], both["document"])
        found.append((f"{VERSION}: {FIRST}", "gain_of_yes", gain, both))
    rows = []
    adjusted, scored = (holm([getattr(one, name) for _, _, one, _ in found]) for name in ("p", "p_scored"))
    for (condition, metric, one, both), p, p_scored in zip(found, adjusted, scored, strict=True):
        keys: Row = {"item": ALL, "unscored": one.unscored, "condition": condition, **shared}
        known = both.dropna(subset=["value", "value_before"])
        flipped = (known["value"] != known["value_before"]).to_numpy(dtype=float)
        row = mean_row("flipped", flipped, clusters=known["document"].to_numpy(), **keys)
        rows += [row, *bounds_rows(row)]
        rows += tested_rows(metric, one, p, p_scored, **keys)
        rows.append(metric_row("texts", float(one.texts), n=one.n, **keys))
    return rows


def change_table(card: pd.DataFrame) -> pd.DataFrame:
    """A row by judge and ``change``: the value of each of its metrics by name, and the row that was tested.

    That is the loss of right answers or, with the place in a call and the order of versions, the gain of yes: its
    ``metric``, ``value``, ``low``, ``high``, ``n`` and ``unscored``, the cases that were not judged both ways.
    ``flipped_high``: upper end of the interval of ``flipped``, if all that were not judged both ways flipped as well.
    """
    rows = card[card["condition"].str.contains(": ")]
    columns = ["flipped", "loss_of_accuracy", "gain_of_yes", "p_value_adjusted", "p_value_scored", "texts"]
    wide = rows.pivot(index=["system", "condition"], columns="metric", values="value").reindex(columns=columns)
    tested = rows[rows["metric"].isin(["loss_of_accuracy", "gain_of_yes"])].set_index(["system", "condition"])
    of = rows[rows["metric"] == "flipped"].set_index(["system", "condition"])
    flipped = (of["high"] * of["n"] + of["unscored"]) / (of["n"] + of["unscored"])
    tested = tested[["metric", "value", "low", "high", "n", "unscored"]]
    found = wide.join(tested).join(flipped.rename("flipped_high")).reset_index()
    return found.assign(change=[condition.partition(": ")[2] for condition in found["condition"]])


def by_rules(judges: Iterable[object]) -> bool:
    """Whether all judges are the simulator's rules, so that a card is a dry run."""
    return all(RULES in str(judge) for judge in judges)


def judged_by_models(table: pd.DataFrame, column: str = "system") -> pd.DataFrame:
    """The rows of judges that are models; nothing is tested, and no weakness told, of the simulator's rules."""
    return table[~table[column].str.contains(RULES, regex=False)]


def weaknesses(card: pd.DataFrame) -> list[str]:
    """A sentence for each weakness of a model beyond chance."""
    return [*findings(judged_by_models(card)), *weak_kinds(judged_by_models(card))]


def limits(card: pd.DataFrame) -> list[str]:
    """What the card cannot tell, a sentence each."""
    return [*unanswered(card), *not_found(judged_by_models(card)), *few_cases(card)]


def findings(card: pd.DataFrame) -> list[str]:
    """One sentence for each weakness of a judge beyond chance: changes by their loss, the place in a call, takes."""
    wide = change_table(card)
    sure = wide[wide["p_value_adjusted"] < LEVEL]
    lost = sure[sure["loss_of_accuracy"] > 0].sort_values("loss_of_accuracy", ascending=False)
    lines = [
        f"{row['system']}: {row['change']} costs {100 * row['loss_of_accuracy']:.1f} points of right answers and "
        f"changes {100 * row['flipped']:.1f}% of verdicts (n {row['n']}, {row['texts']:.0f} texts)"
        for row in lost.to_dict("records")
    ]
    for row in sure[sure["gain_of_yes"].notna()].to_dict("records"):
        more = "more" if row["gain_of_yes"] > 0 else "less"
        points = f"{100 * abs(row['gain_of_yes']):.1f} points"
        what = "a version that is shown first" if row["change"] == FIRST else "a claim that stands earlier in its call"
        of = f"(n {row['n']}, {row['texts']:.0f} texts)"
        lines.append(f"{row['system']}: {what} is accepted {more} often, by {points} {of}")
    again = card[(card["metric"] == "changed_when_asked_again") & (card["low"] > UNSTEADY)]
    for row in again.to_dict("records"):
        changed = f"{100 * row['value']:.1f}% of answers change when the same is asked again (n {row['n']})"
        lines.append(f"{row['system']}: {changed}")
    return lines


def weak_kinds(card: pd.DataFrame) -> list[str]:
    """One sentence for each kind of case that a judge sees worse than the others of its task, beyond chance."""
    rows = card[(card["item"] != ALL) & card["metric"].isin(["judged_rightly", OTHERS, "p_value_adjusted"])]
    if "p_value_adjusted" not in set(rows["metric"]):
        return []
    keys = ["system", "condition", "item"]
    wide = rows.pivot(index=keys, columns="metric", values="value")
    counts = {"n": "judged_rightly", "others_n": OTHERS}
    wide = wide.assign(**{name: rows[rows["metric"] == of].set_index(keys)["n"] for name, of in counts.items()})
    weak = wide[wide["p_value_adjusted"] < KIND_LEVEL].sort_values("judged_rightly").reset_index()
    return [
        f"{row['system']}: {row['condition']}: {row['item']} is judged rightly in {100 * row['judged_rightly']:.1f}% "
        f"(n {row['n']:.0f}), other kinds with the same answer in {100 * row[OTHERS]:.1f}% (n {row['others_n']:.0f})"
        for row in weak.to_dict("records")
    ]


def unanswered(card: pd.DataFrame) -> list[str]:
    """Tasks of which a judge gave no verdict that could be used."""
    rows = card[(card["metric"] == "answered") & (card["value"] == 0)]
    return [
        f"{row['system']}: {row['condition']}: none of {row['n']} cases has a verdict"
        for row in rows.to_dict("records")
    ]


def not_found(card: pd.DataFrame) -> list[str]:
    """What the lack of a finding means, a sentence by judge: not tested, too few texts, hidden by failures, or none."""
    wide, lines = change_table(card), []
    judges = card.loc[~card["condition"].str.startswith("against "), "system"].drop_duplicates()
    for judge in judges:
        own = wide[wide["system"] == judge]
        if own.empty:
            lines.append(f"{judge}: whether what should not matter changes the answers was not tested")
            continue
        least = fewest_texts(len(own))
        few = own[own["texts"] < least]
        hidden = own[(own["p_value_adjusted"] >= LEVEL) & (own["p_value_scored"] < LEVEL)]
        lines += [
            f"{judge}: {row['change']}: cannot be told, failed cases decide (n {row['unscored']})"
            for row in hidden.to_dict("records")
        ]
        if len(few):
            lines.append(
                f"{judge}: too few texts have both verdicts to tell whether {len(few)} of {len(own)} changes matter: "
                f"{int(few['texts'].min())}, where {least} are needed"
            )
        told = own[(own["texts"] >= least) & ~own.index.isin(hidden.index) & (own["p_value_adjusted"] >= LEVEL)]
        lost, gained = (told[told[name].notna()] for name in ("loss_of_accuracy", "gain_of_yes"))
        if len(lost):
            of_loss, of_gain = own[["loss_of_accuracy", "gain_of_yes"]].count()
            order = f", and {len(gained)} of {of_gain} of order gain no more yes" if len(gained) else ""
            most = f"{100 * max(lost['value'].max(), 0):.1f} points and {percent(told['flipped'].max())}"
            lines.append(
                f"{judge}: {len(lost)} of {of_loss} changes that should not matter cost no more right answers than "
                f"chance would{order} (family-wise level {LEVEL}); by their intervals, none costs more than "
                f"{100 * lost['high'].max():.1f} points or changes more than {percent(told['flipped_high'].max())} of "
                f"answers, failed ones counted as changed (seen: at most {most}; each tested on "
                f"{int(told['texts'].min())} or more texts)"
            )
    return lines


def verdict_lines(card: pd.DataFrame) -> list[str]:
    """What each judge found and rejected, a line by task, headed where a judge is the simulator."""
    whole = card[card["item"] == ALL].set_index(["system", "condition", "metric"])
    judges = card.loc[card["metric"] == "answered", "system"].unique()
    lines = [DRY_RUN] if by_rules(judges) else []
    for judge in judges:
        tasks = card.loc[(card["system"] == judge) & (card["metric"] == "answered"), "condition"]
        for task in tasks:
            yes, no = (whole.loc[(judge, task, name)] for name in ("sensitivity", "specificity"))
            asked = ASKED.get(task, Asked(""))
            failed = int(yes["unscored"] + no["unscored"])
            line = f"{judge}: {task}: {_counted('finds', yes, asked.yes)}, {_counted('rejects', no, asked.no)}"
            line += f"; no verdict on {failed} more" if failed else ""
            if not by_rules([judge]):
                both = whole.reindex([(judge, task, "balanced_accuracy")]).iloc[0]
                line += f": {_recommended(yes, no, both)}"
                of_task = card["condition"].str.split("[:,]", n=1).str[0] == task
                line += "; see its weaknesses" if weaknesses(card[of_task & (card["system"] == judge)]) else ""
            lines.append(line)
    return lines


USABLE = 0.9
"""Sensitivity and specificity from which a judge's verdicts are recommended as they are."""


def _recommended(yes: pd.Series, no: pd.Series, both: pd.Series) -> str:
    """What the judge can be used for: its rates by their intervals, as it is only if failed verdicts are wrong, too."""
    if not yes["n"] + no["n"]:
        return "nothing to tell"
    if all(one["n"] and one["low"] * one["n"] / (one["n"] + one["unscored"]) >= USABLE for one in (yes, no)):
        return "fit for use as it is"
    if not both["low"] > 0.5:
        if not both["high"] < USABLE:  # so few verdicts of a good judge could have come out like this too
            return "too few texts to tell it from guessing, audit more"
        return "do not use it, it is not told from guessing"
    if min(yes["high"], no["high"]) < USABLE:
        return "use it corrected by this card only (vignette evaluate --card)"
    return "too few cases to say, use it corrected by this card (vignette evaluate --card) or audit more texts"


def _counted(found: str, rate: pd.Series, cases: str) -> str:
    """How many of the cases with a verdict were judged so."""
    n = int(rate["n"])
    if not n + rate["unscored"]:
        return f"no case of {cases}"
    return f"{found} {round(rate['value'] * n) if n else 0} of {n} {cases}"


def few_cases(card: pd.DataFrame) -> list[str]:
    """Kinds with fewer than `ENOUGH` cases by task, in one line a task, if any."""
    kinds = card[card["metric"] == "judged_rightly"]
    counts = (kinds["n"] + kinds["unscored"]).groupby([kinds["condition"], kinds["item"]]).max()
    few = counts[counts < ENOUGH]
    lines = []
    for task, rows in few.groupby(level=0):
        every = len(counts[task])
        named = ", ".join(f"{words(kind)} ({n})" for (_, kind), n in rows.items())
        what = named if len(rows) <= NAMED else f"{len(rows)} of {every} kinds"
        lines.append(f"{task}: fewer than {ENOUGH} cases of {what}")
    return lines
