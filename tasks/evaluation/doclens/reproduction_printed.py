"""DocLens's figures that follow from other printed figures or from the published outputs without a judge."""

from collections.abc import Mapping

import pandas as pd

from tasks.evaluation.doclens.reproduction import NEEDS, Row

ANLI = ["anli_r1", "anli_r2", "anli_r3"]
ROUNDING = 0.1
"""Half a digit of the printed mean, and as much of its printed terms, in percent."""


def nli_mean_rows(table1: pd.DataFrame, table4: pd.DataFrame) -> list[Row]:
    """The means of Tables 1 and 4 from the accuracies of Table 4's four test sets, unweighted as in print."""
    anli = table4.set_index("model")[ANLI].mean(axis=1)
    every = table4.set_index("model")[[*ANLI, "mednli"]].mean(axis=1)
    printed = table1.set_index("model")
    rows = [_exact("Table 4", row, "mean", value, every) for row, value in table4.set_index("model")["mean"].items()]
    for column, ours in (("anli", anli), ("weighted_mean", every)):
        rows += [_exact("Table 1", row, column, value, ours) for row, value in printed[column].items()]
    return rows


def _exact(table: str, row: object, column: str, published: float, ours: pd.Series) -> Row:
    return (table, str(row), column, float(published), float(ours[row]), ROUNDING, "exact", None)


def word_rows(words: pd.DataFrame, outputs: Mapping[str, Mapping[str, str]] | None) -> list[Row]:
    """Mean number of words of a system's notes (Section 4.2); absent for systems whose outputs are not at hand."""
    rows: list[Row] = []
    for system, published in zip(words["system"], words["words"], strict=True):
        if outputs is not None and system in outputs:
            ours = sum(len(text.split()) for text in outputs[system].values()) / len(outputs[system])
            rows.append(("Section 4.2", system, "words", float(published), ours, 0.05, "exact", None))
        else:
            nan = float("nan")
            rows.append(("Section 4.2", system, "words", float(published), nan, nan, "absent", NEEDS))
    return rows
