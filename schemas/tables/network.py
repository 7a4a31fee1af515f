"""The record table, whose columns come from the network definition."""

from typing import Protocol

import pandera.pandas as pa

from schemas.tables.columns import RECORD, category, count, table


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
