"""The page of a card: what a judge can be used for, its rates by task, what changes its mind, and the rest."""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from operator import itemgetter
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from tasks.audit.card import CONDITION, METRIC_NAMES, by_rules, judged_by_models, limits, verdict_lines, weaknesses
from tasks.audit.comparisons import ALL
from tasks.progress import number_of
from tasks.reporting.display import paragraph, percent
from tasks.reporting.evaluation_text import DRY_RUN
from tasks.reporting.sections import Fold, Section, origin_section, render_sections
from tasks.reporting.show import Table, Wording, differences, show

SHOWN = 12
"""Changed pairs that are shown for each judge and factor."""
AROUND = 30
"""Words that are shown on either side of a difference."""
_CHANGES = ("flipped", "loss_of_accuracy", "gain_of_yes", "p_value_adjusted")
_SHARES = (*METRIC_NAMES, *_CHANGES[:3], "judged_rightly", "changed_when_asked_again", "usable_replies")


def card_page(
    card: pd.DataFrame,
    verdicts: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    changes: pd.DataFrame | None,
    made_from: Mapping[str, Any],
    origin_rows: Mapping[str, str],
    cite: str,
    people: pd.DataFrame,
) -> str:
    """One self-contained HTML page without scripts; every text is escaped.

    ``cases``: CASES of the claims, whose texts are shown where verdicts changed. ``changes``: the table of
    `tasks.audit.comparisons.against`, if compared. ``made_from``: what the card was made from, by name.
    ``origin_rows``: the code that made it, by name; ``cite``: how to cite it. ``people``: METRICS of the agreement of
    judges with people and of people with each other.
    """
    judges = sorted(verdicts["judge"].unique())
    rules, made = by_rules(judges), {name: _words(value) for name, value in made_from.items() if name != "code"}
    origin = origin_section({name.replace("_", " "): value for name, value in made.items()} | dict(origin_rows), cite)
    compared = list[dict[str, Any]]()
    if changes is not None:  # rates, and what differs or may differ
        listed = changes["primary"] | changes["changed"] | changes["undecided"]
        compared = judged_by_models(changes[listed], "judge").to_dict("records")
    pairs = card[card["condition"].str.startswith("against ")]
    sections = [*([_against(compared)] if compared else []), *_minds(card, _changed(verdicts, cases)), _kinds(card)]
    if len(people):
        sections.append(
            Section("people", "Judged as people judge", [paragraph("people")], tables=people_tables(people))
        )
    if len(pairs):
        keys = Wording(keys={"system": "judge", "condition": "against"})
        sections.append(Section("pairs", "Judges side by side", tables=show(pairs, keys).tables))
    return render_sections(
        f"Report card of {', '.join(judges)}", _head(card, judges, made_from, rules), [*sections, origin]
    )


def rate_tables(card: pd.DataFrame) -> Sequence[Table]:
    """The rates of each judge on each task, with the share of its answers that change."""
    card = card.assign(condition=card["condition"].str.replace(r", \d+ takes$", "", regex=True))
    again = card[card["metric"] == "changed_when_asked_again"]
    rates = pd.concat([card[(card["item"] == ALL) & card["metric"].isin(METRIC_NAMES)], again], ignore_index=True)
    return _tables(card, rates[rates["n"] + rates["unscored"] > 0])


def people_tables(people: pd.DataFrame) -> Sequence[Table]:
    """Kappa and rates of judges with people, and of people with each other."""
    rows = people[people["metric"].isin(["kappa", *METRIC_NAMES])]
    return show(rows.sort_values("item", kind="stable"), _WHO).tables


_WHO = Wording(shares=METRIC_NAMES, keys={"system": "who", "condition": "reading", "item": "asked, and against whom"})
_ONES = {"system": "judge", "condition": "task", "item": "kind"}
_MEANINGS = {
    "sensitivity": "share of cases whose answer is yes that are judged yes",
    "specificity": "share of cases whose answer is no that are judged no",
    "answered": "share of cases with a verdict",
    "changed_when_asked_again": "share of answers that change when the same is asked again",
    "flipped": "share of verdicts that change",
    "loss_of_accuracy": "right answers lost",
    "gain_of_yes": "yes gained where something comes first",
}


def _head(card: pd.DataFrame, judges: Sequence[str], made_from: Mapping[str, Any], rules: bool) -> Section:
    """What each judge can be used for, what speaks against it, and its rates on each task."""
    size = number_of(made_from["cases"], "case")
    said = paragraph("card", cases=size, source=made_from["source"], seed=made_from["seed"])
    limited = limits(card)
    return Section(
        "summary",
        f"{f'{DRY_RUN.capitalize()}. ' if rules else ''}Report card: {', '.join(judges)}",
        [f"{line}." for line in verdict_lines(card) if line != DRY_RUN],
        [*([paragraph("card_by_rules")] if rules else []), *(f"{line}." for line in weaknesses(card))],
        tables=rate_tables(card),
        folds=[Fold("What this card cannot tell", str(len(limited)), [f"{line}." for line in limited])]
        if limited
        else [],
        notes=[said],
    )


def _tables(card: pd.DataFrame, rows: pd.DataFrame) -> Sequence[Table]:
    """Rows of a card with the number of texts that each figure comes from."""
    keys, small = ["system", "condition", "item", "metric"], []
    texts = card[card["metric"].str.endswith("texts")].set_index(keys)["value"].to_dict()
    for key in rows[keys].itertuples(index=False):
        count = texts.get((*key[:3], f"{key.metric}_texts"), texts.get((*key[:3], "texts")))
        small.append(() if count is None or key.metric == "p_value_adjusted" else (number_of(int(count), "text"),))
    return show(rows.assign(small=small), Wording(_MEANINGS, _SHARES, keys=_ONES)).tables


def _against(rows: Sequence[Mapping[str, Any]]) -> Section:
    """What changed since an earlier card."""
    heads: dict[str, Any] = {
        "judge": itemgetter("judge"),
        "task": itemgetter("task"),
        "kind or change": itemgetter("item"),
    }
    sides = [
        {**row, "a": row["before"], "b": row["now"], "difference": row["now"] - row["before"],
         "note": "failed cases decide" if row["undecided"] else "too few texts" if row["few"] else ""}
        for row in rows
    ]  # fmt: skip
    table = differences(sides, heads, ("right before", "right now"), write=percent, more={"unscored": "unscored"})
    return Section("against", "Against the earlier card", [paragraph("against")], tables=[table])


def _minds(card: pd.DataFrame, changed: Sequence[Mapping[str, Any]]) -> list[Section]:
    """What should not matter, with the cases that were right before the change and wrong after it."""
    rows = card[card["condition"].str.contains(": ") & card["metric"].isin(_CHANGES)]
    folds = [
        Fold(
            f"{one['judge']}: {one['factor']}",
            f"{one['count']} right before the change, wrong after it"
            + (f"; the first {SHOWN}" if one["count"] > SHOWN else ""),
            data=one["rows"],
        )
        for one in changed
    ]
    return [Section("changes", "What should not matter", tables=_tables(card, rows), folds=folds)] if len(rows) else []


def _kinds(card: pd.DataFrame) -> Section:
    """Right answers by kind of case, and what the verdicts took."""
    kinds = card[card["metric"] == "judged_rightly"].sort_values(["system", "condition", "value"])
    used = show(card[card["condition"] == CONDITION], Wording(shares=_SHARES, keys=_ONES))
    folds = [Fold("Right answers by kind of case", number_of(len(kinds), "row"), tables=_tables(card, kinds))]
    folds += [Fold("In practice", "replies, tokens, dollars and seconds", tables=used.tables)] if used.tables else []
    return Section("kinds", "By kind of case, and in practice", folds=folds)


def _words(value: Any) -> str:
    """A value of what a card was made from."""
    if isinstance(value, str | int | float):
        return str(value)
    parts = [
        ", ".join(f"{key} {part}" for key, part in one.items()) if isinstance(one, Mapping) else str(one)
        for one in value
    ]
    return "; ".join(parts)


def _changed(verdicts: pd.DataFrame, cases: pd.DataFrame) -> list[dict[str, Any]]:
    """Cases that were judged rightly and whose variant was not, by judge and factor, with what differs marked."""
    asked = {(row["unit"], row["condition"]): row for row in cases.to_dict("records")}
    base = verdicts[verdicts["condition"] == ""].set_index(["judge", "unit"])["value"].rename("before")
    both = verdicts[verdicts["condition"] != ""].join(base, on=["judge", "unit"]).dropna(subset=["value", "before"])
    worse = both[(both["before"] == both["truth"]) & (both["value"] != both["truth"])]
    found = []
    for (judge, factor), rows in worse.groupby(["judge", "condition"], sort=True):
        shown = []
        for row in rows.head(SHOWN).to_dict("records"):
            before, now = asked.get((row["unit"], "")), asked.get((row["unit"], row["condition"]))
            texts = [f"{one['text']}\n\n{one['premise']}" if one else "" for one in (before, now or before)]
            shown.append({**row, "texts": marked(*texts)})
        found.append({"judge": judge, "factor": factor, "count": len(rows), "rows": shown})
    return found


def marked(first: str, second: str) -> tuple[Markup, Markup]:
    """Both texts as HTML, with the words that differ marked and long stretches without a difference cut out."""
    words: list[list[str]] = [re.findall(r"\S+|\s+", text) for text in (first, second)]
    sides: list[list[Markup]] = [[], []]
    for same, *places in SequenceMatcher(None, words[0], words[1], autojunk=False).get_opcodes():
        for side, text, start, end in zip(sides, words, places[::2], places[1::2], strict=True):
            side.append(_cut(text[start:end], mark=same != "equal"))
    return Markup("").join(sides[0]), Markup("").join(sides[1])


def _cut(words: list[str], *, mark: bool) -> Markup:
    """The words, escaped; of a long stretch its beginning and its end."""
    cut = len(words) > 4 * AROUND
    parts = ["".join(words[: 2 * AROUND]), "".join(words[-2 * AROUND :])] if cut else ["".join(words)]
    shown = Markup(" […] ").join(escape(part) for part in parts)
    return Markup("<mark>{}</mark>").format(shown) if mark and words else shown
