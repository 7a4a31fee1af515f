"""``python -m tests.benchmarks.scale_page``: write the table of docs/scale.md from the measurements in docs/scale.csv.

Processor time is extrapolated by the calls, without the start of the stage's process, which the stage `sample` gives.
"""

from pathlib import Path

import pandas as pd

DOCS = Path(__file__).resolve().parents[2] / "docs"
MEASURED, PAGE = DOCS / "scale.csv", DOCS / "scale.md"
BEGIN, END = "<!-- table of scale.csv -->", "<!-- end of the table -->"
RECORDS = 1_000_000
DOLLARS = (2.5, 10.0)
"""Per million tokens of the prompt and of the completion: gpt-4o."""
CALLS_A_MINUTE = 10_000


def table(measured: pd.DataFrame) -> str:
    """A Markdown table of a run of ``RECORDS`` records, from the largest measured size of each stage."""
    start = measured.loc[measured["stage"] == "sample", "cpu_s"].min()
    largest = measured.sort_values("records").groupby("stage").last().loc[measured["stage"].drop_duplicates()]
    scale = RECORDS / largest["records"]
    figures = pd.DataFrame(
        {
            "calls, millions": largest["calls"] * scale / 1e6,
            "simulator, processor hours": (largest["cpu_s"] - start).clip(lower=0) * scale / 3600,
            f"hosted, hours at {CALLS_A_MINUTE:,} calls a minute": largest["calls"] * scale / CALLS_A_MINUTE / 60,
            "tokens, billions": (largest["prompt_tokens"] + largest["completion_tokens"]) * scale / 1e9,
            "dollars": (largest["prompt_tokens"] * DOLLARS[0] + largest["completion_tokens"] * DOLLARS[1])
            * scale
            / 1e6,
            "store, GB": largest["store_mb"] * scale / 1e3,
            "tables, GB": largest["tables_mb"] * scale / 1e3,
        }
    )
    figures.loc["all"] = figures.sum()
    lines = [f"| stage | {' | '.join(figures.columns)} |", "|---" * (len(figures.columns) + 1) + "|"]
    for stage, row in figures.iterrows():
        cells = [f"{value:,.0f}" if name == "dollars" else f"{value:,.1f}" for name, value in row.items()]
        lines.append(f"| {stage} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_table(page: str, measured: pd.DataFrame) -> str:
    """The page with the table of ``measured`` in place of its present one."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table(measured)}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), pd.read_csv(MEASURED)), encoding="utf-8")
