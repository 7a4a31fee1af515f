"""The printed tables (``published/*.csv``), and the requirements of those that are not reproduced."""

from importlib.resources import files

import pandas as pd

NEEDS = {
    # file stem: (source, table, requirement)
    "doclens_table21_aci_gpt4": ("doclens", "Table 21", "the systems' outputs with citations, and GPT-4 as judge"),
    "doclens_table22_aci_mistral": ("doclens", "Table 22", "the systems' outputs with citations, and Mistral as judge"),
    "doclens_table23_aci_true": ("doclens", "Table 23", "the systems' outputs with citations, and TRUE (11B) as judge"),
    "doclens_table26_aci_sections_mistral": ("doclens", "Table 26", "the systems' outputs, and Mistral as judge"),
    "doclens_table27_aci_sections_true": ("doclens", "Table 27", "the systems' outputs, and TRUE (11B) as judge"),
    "doclens_table32_meqsum_existing": ("doclens", "Table 32", "the GPT summaries of the MeQSum test set"),
    "doclens_table33_meqsum_gpt4": ("doclens", "Table 33", "the GPT summaries of MeQSum, and GPT-4 as judge"),
    "medomit_table3_llms": ("medomit", "Table 3", "116 visits' dialogues, eight summary models and GPT-4 as judge"),
    "medomit_table5_correlations": ("medomit", "Table 5", "116 visits' dialogues, GPT summaries and GPT-4 as judge"),
}


def load_published(stem: str) -> pd.DataFrame:
    """The printed table ``published/<stem>.csv``; empty cells are dashes in print."""
    with files("tasks.reproduction").joinpath("published", f"{stem}.csv").open(encoding="utf-8") as source:
        return pd.read_csv(source)


def cells(table: pd.DataFrame) -> pd.DataFrame:
    """A printed table in long form (row, column, published). Text columns label the row; each number is a cell."""
    numbers = table.select_dtypes("number").columns
    labels = [name for name in table.columns if name not in numbers]
    row = table[labels].fillna("").agg(" / ".join, axis=1)
    long = table[numbers].assign(row=row).melt(id_vars="row", var_name="column", value_name="published")
    return long.dropna(subset="published").astype({"published": float, "column": "str", "row": "str"})


def absent_rows(present: pd.DataFrame) -> pd.DataFrame:
    """Rows of basis ``absent`` for each printed table of NEEDS that has no row in ``present``."""
    covered = set(zip(present["source"], present["table"], strict=True))
    parts = []
    for stem, (source, table, needs) in NEEDS.items():
        if (source, table) not in covered:
            parts.append(cells(load_published(stem)).assign(source=source, table=table, note=f"needs {needs}"))
    if not parts:
        return present.iloc[:0]
    rows = pd.concat(parts, ignore_index=True)
    rows = rows.assign(reproduced=float("nan"), tolerance=float("nan"), basis="absent")
    return rows[list(present.columns)]
