"""The record table, whose columns come from the network definition, and SimSUM's printed tables about the network."""

from typing import Protocol

import pandera.pandas as pa

from schemas.tables.columns import RECORD, category, count, number, table


class NamedValues(Protocol):
    """The part of a network definition that the record table depends on."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables in order."""
        ...

    def values(self, name: str) -> tuple[str, ...]:
        """The values of a variable; empty for a count."""
        ...


def records_schema(definition: NamedValues) -> pa.DataFrameSchema:
    """The schema of ``records``: the record's id, then the variables in the definition's order.

    A variable with values is a string column, a count (days at home) an int64 column.
    """
    variables = {
        name: category(*definition.values(name)) if definition.values(name) else count()
        for name in definition.variables
    }
    return table({"record": RECORD, **variables}, key=["record"], name="records")


_NO_YES = category("no", "yes")
_FEVER = category("none", "low", "high")

PRINTED_ANTIBIOTICS = table(
    {
        "dyspnea": _NO_YES,
        "cough": _NO_YES,
        "pain": _NO_YES,
        "fever": _FEVER,
        "expert_label": _NO_YES,
        "predicted_probability": number(low=0, high=1),
    },
    key=["dyspnea", "cough", "pain", "fever"],
    name="printed_antibiotics",
)
"""SimSUM's Table 7; all cases with policy = low."""

PRINTED_DAYS = table(
    {
        "dyspnea": _NO_YES,
        "cough": _NO_YES,
        "pain": _NO_YES,
        "nasal": _NO_YES,
        "fever": _FEVER,
        "label_without_antibiotics": number(low=0),
        "predicted_without": number(low=0),
        "label_with_antibiotics": number(low=0),
        "predicted_with": number(low=0),
    },
    key=["dyspnea", "cough", "pain", "nasal", "fever"],
    name="printed_days",
)
"""SimSUM's Tables 8 and 9; all cases with self-employed = no."""
