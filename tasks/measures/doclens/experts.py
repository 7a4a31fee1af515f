"""Agreement of metrics with experts who compared pairs of outputs, and of the experts (DocLens, Section 4.3)."""

from functools import partial

import numpy as np
import pandas as pd

from tasks.measures.doclens.form import SIDES
from tasks.statistics.agreement import correlation, correlation_interval
from tasks.statistics.metric_rows import Row, mean_row, metric_row


def preference_rows(pairs: pd.DataFrame, chosen: pd.DataFrame, metrics: tuple[str, str], **shared: str) -> list[Row]:
    """Agreement of metrics with experts on the pairs, and of one expert with the mean of the others, by section.

    Spearman and Kendall with the share of claims that the experts find in an output (Table 2), the share of their
    preferences that a metric has (Figure 7), and the experts among themselves (Table 12).
    """
    rows: list[Row] = []
    told = chosen.merge(pairs, left_on="record", right_on="pair")
    claims = told[told["question"] != "preferred"]
    claims = claims.assign(side=claims["question"].str.split().str[0], found=claims["answer"].eq("yes").astype(float))
    for section, part in claims.groupby("item"):
        row = partial(metric_row, condition=f"preferences of experts, {section}", **shared)
        by_rater = part.groupby(["record", "side", "rater"])["found"].mean().unstack()
        people, values = by_rater.mean(axis=1), pairs.set_index("pair")
        records = people.index.get_level_values("record")
        preferred = told[(told["item"] == section) & (told["question"] == "preferred")]
        for name in metrics:
            scores = [values.loc[record, f"{name}_{side}"] for record, side in people.index]
            for kind in ("spearman", "kendall"):
                rows.append(
                    row(kind, *correlation_interval(scores, people, kind, clusters=records), n=len(people), item=name)
                )
            its = np.where(preferred[f"{name}_first"] > preferred[f"{name}_second"], *SIDES)
            about = {"condition": f"preferences of experts, {section}", "item": name, **shared}
            rows.append(
                mean_row("preference_agreement", preferred["answer"].eq(its), clusters=preferred["record"], **about)
            )
        for kind in ("spearman", "kendall"):
            ones = [
                correlation(by_rater[one].to_numpy(), by_rater.drop(columns=one).mean(axis=1).to_numpy(), kind)
                for one in (by_rater.columns if by_rater.shape[1] > 1 else ())
            ]
            rows += [row(f"{kind}_among_people", float(np.mean(ones)), n=len(by_rater), item="experts")] if ones else []
    return rows
