"""The comparison of two lineages as text and as a page."""

import re
from dataclasses import replace

import pandas as pd

from tasks.reporting.comparison_page import Compared, render_comparison, terminal_text
from tasks.tracking.comparison import COLUMNS
from tasks.tracking.differences import cost_table, figure_table

EMPTY = pd.DataFrame(columns=["kind", "name", "a", "b", "stages", "unchanged"])
STAGES = pd.DataFrame({"stage": ["doclens"], "outputs": ["data/doclens_scores.parquet"]})
NONE = float("nan")
CHANGED = [0.8, 0.7, -0.1, -0.15, -0.05, 0.001, True, 190, 0, 0, 10, 3, -0.145, -0.095, 0.07, 1, ""]
DIFFERS = "not comparable: what is scored differs in 20 records"
OTHER = [*[NONE] * 5, 1.0, False, *[0] * 5, *[NONE] * 3, 1, DIFFERS]
ROWS = [
    ["doclens", "compact notes", "json", "all", "claim_recall", *CHANGED],
    ["note_qa", "answerer", "normal", "all", "score", *OTHER],
]
MEASURES = pd.DataFrame(ROWS, columns=COLUMNS)
FIGURES = figure_table(
    {"judge/specificity": (0.9, 0.8, 0.95), "notes/spans": (4, 3.8, 4.2)}, {"notes/spans": (3.5, 3.4, 3.6)}
)


def compared(measures: pd.DataFrame, *, b: str = "b", **tables: pd.DataFrame) -> Compared:
    """A comparison of lineages whose stage DocLens has other outputs, for no input that differs."""
    shown = {"figures": FIGURES, "inputs": EMPTY, "stages": STAGES, "costs": cost_table({}, {}), **tables}
    return Compared("a", b, **shown, measures=measures)


def test_the_terminal_lists_changed_measures_and_warnings() -> None:
    lines = terminal_text(compared(MEASURES)).splitlines()
    assert "measures compared: 1; changed beyond chance (5% family-wise): 1" in lines
    changed = (
        "  doclens  compact notes, json, all, claim_recall: 0.800 -> 0.700 (−0.100 [−0.150, −0.050], p 0.001, n 190)"
    )
    assert changed in lines
    assert f"warning: {DIFFERS} (1 of 2 measures)" in lines
    unmoved = pd.concat(
        [MEASURES.head(1).assign(n=n, changed=False, detectable=least) for n, least in ((5, NONE), (60, 0.4))]
    )
    said = terminal_text(compared(unmoved))
    assert "no change shown in 1, of 60 records each; differences that tests of one measure\n  alone" in said
    assert "80%: 0.400, median 0.400 (CSV)" in said
    few = "too few records (below 8) to show any change: 1 of the measures"
    assert few in said and few in render_comparison(compared(unmoved))


def test_the_page_shows_failures_bounds_and_notes() -> None:
    page = render_comparison(compared(MEASURES, b="<b>"))
    assert re.search(r"<td>−0.145 to −0.095\s*</td>", page)
    assert re.search(r"<td>3\s*</td><td>13\s*</td>", page), "those that both failed to score, too"
    assert page.count(DIFFERS) == 2 and "1 of 1 measures changed" in page
    assert "differs, so that nothing is tested" not in render_comparison(compared(MEASURES.iloc[1:]))
    assert "nan" not in page.split("<h2>Measures</h2>")[1].split("</figure>")[1]
    assert "<b> " not in page and "&lt;b&gt;" in page


def test_the_page_says_on_which_records_lineages_are_compared() -> None:
    some = pd.concat([MEASURES.head(1), MEASURES.head(1).assign(unpaired=1700)])
    assert "All are compared on the records that both lineages scored." in render_comparison(compared(MEASURES))
    said = "lineages scored; up to 1,700 further ones do not pair and are left out."
    assert said in render_comparison(compared(some))


def test_inputs_are_listed_with_short_hashes_and_the_cost_of_both_lineages() -> None:
    file, folder, text = "0123456789abcdef" * 2, "0123456789abcdef" * 2 + ".dir", "meta-llama/Llama-3.1-8B-Instruct"
    code = [("code", f"fingerprints/code/{name}.json", file, folder) for name in ("doclens", "write")]
    kinds = [
        *code,
        ("file", "data.parquet", file, folder),
        ("param", "seed", "7", ""),
        ("param", "name", text, "a b" * 11),
    ]
    inputs = pd.DataFrame([(*row, "sample", "") for row in kinds], columns=EMPTY.columns)
    costs = pd.DataFrame(
        [("write", 1200, 1300, 10, 20, 1.005, 2.5), ("filter", 0, 5, 1, 1, 0.5, 0.25)],
        columns=["stage", "calls_a", "calls_b", "tokens_a", "tokens_b", "dollars_a", "dollars_b"],
    )
    lines = terminal_text(compared(MEASURES.iloc[:0], inputs=inputs, stages=STAGES.iloc[:0], costs=costs)).splitlines()
    assert lines[2:] == [
        "inputs that differ, as dvc.lock has them: 5",
        "  code      of doclens, write",
        "  file      data.parquet  0123456789… -> 0123456789…",
        "  param     seed  7 -> (absent)",
        f"  param     name  {text} -> {'a b' * 11}",
        "",
        "stages that changed: none",
        "",
        "key figures:",
        "  notes/spans              4 [3.800, 4.200] -> 3.500 [3.400, 3.600]  ● apart: moved beyond chance",
        "  judge/specificity        0.900 [0.800, 0.950] -> –",
        "  without an interval in both: judge/specificity",
        "",
        "measures compared: 0; changed beyond chance (5% family-wise): 0",
        "  no stage has other outputs: both have the same scores",
        "",
        "cost: calls 1,200 -> 1,305, tokens 11 -> 21, dollars 1.50 -> 2.75",
    ]
    part = inputs[inputs["name"] == "seed"].assign(unchanged="split, write")
    said = terminal_text(compared(MEASURES, inputs=part))
    assert "  param     seed  7 -> (absent) (for sample; not rebuilt: split, write)\n" in said
    changed = terminal_text(compared(MEASURES.iloc[:0], costs=costs.iloc[:0])).splitlines()
    assert "stages that changed: doclens" in changed
    assert any("no table of scores or predictions by record, of those in both, differs" in line for line in changed)
    assert "cost: not known here: neither lineage is recorded in this clone" in changed
    elsewhere = compared(MEASURES, costs=cost_table({}, {"write.calls": 3.0}))
    assert terminal_text(elsewhere).splitlines()[-1].startswith("cost: calls unknown -> 3, tokens unknown -> 0,")
    assert "unknown" in render_comparison(elsewhere)


def test_at_most_thirty_measures_are_shown_by_p() -> None:
    named = MEASURES.head(1)
    many = pd.concat([named.assign(metric=f"m{n:02}", p=(40 - n) / 1000) for n in range(31)])
    lines = terminal_text(compared(many)).splitlines()
    listed = [line for line in lines if line.startswith("  doc")]
    assert len(listed) == 30 and ", m30:" in listed[0] and ", m01:" in listed[-1]
    page = render_comparison(compared(many))
    figure = page.split("<svg")[1].split("</svg>")[0]
    assert figure.count(", compact notes, json") == 30 and "m00" not in figure
    for low, high in ((-1.5, 0.5), (-0.5, 1.5)):
        counts = render_comparison(compared(many.assign(low=low, high=high)))
        assert "<svg" not in counts, "counts would hide the differences of shares"
    assert figure.index("m01") < figure.index("m30"), "drawn from the bottom, so the smallest p is at the top"


def test_one_sentence_says_why_records_do_not_pair() -> None:
    split = [f"compared as independent samples: 0 of {n} records pair" for n in (12, 60)]
    notes = [*split, f"{split[1]}; one training seed", "cannot be told: the missing scores decide (n 3)"]
    many = pd.concat([MEASURES.head(1).assign(note=note) for note in notes])
    causes = [("param", "seed", "7", "8", "prompt, sample, split", ""), ("param", "seeds", "1", "2", "baselines", "")]
    code = ("code", "tasks/a.py", "0" * 32, "1" * 32, "sample", "")
    inputs = pd.DataFrame([code, *causes], columns=EMPTY.columns)
    merged = "compared as independent samples: 0 of 12 to 60 records pair (3 of 4 measures)"
    others = [
        "one training seed (1 of 4 measures)",
        "cannot be told: the missing scores decide (n 3) (1 of 4 measures)",
    ]
    assert compared(many).warnings == [merged, *others]
    of_seed = f"seed (7 -> 8) changed, so other records were drawn: {merged}"
    assert compared(many, inputs=inputs).warnings == [of_seed, *others]
    some = many.assign(note=[*split[:1], "compared as independent samples: 2 of 60 records pair", "", ""])
    merged = "compared as independent samples: 0 to 2 of 12 to 60 records pair (2 of 4 measures)"
    assert compared(some, inputs=inputs).warnings == [f"seed (7 -> 8) changed, so other records were drawn: {merged}"]


def test_values_of_committed_tables_are_listed_untested_with_what_to_push() -> None:
    untested = MEASURES.head(1).assign(p=NONE, low=NONE, high=NONE, changed=False)
    rounding = untested.assign(metric="rounded", a=1e-9, b=2e-9, difference=1e-9)
    part = untested.assign(item="Plan", b=0.1, difference=-0.7)
    untested = pd.concat([rounding, part, untested])
    none = compared(MEASURES.iloc[:0])
    found = replace(none, values=untested, missing="not tested: run `dvc push`")
    assert found.ordered_values["metric"].tolist() == ["claim_recall", "claim_recall", "rounded"], "though it doubled"
    assert found.ordered_values["item"].tolist() == ["all", "Plan", "all"], "though the part fell by more"
    lines = terminal_text(found).splitlines()
    summed = (
        "values that differ in the metric tables: 3, none of them tested; beyond the printed digits: 2, of all items "
        "first, by relative difference"
    )
    reason = lines.index("warning: not tested: run `dvc push`")
    assert (
        lines.index("inputs that differ, as dvc.lock has them: 0")
        < reason
        < lines.index("key figures:")
        < lines.index(summed)
    )
    assert not any("rounded" in line for line in lines)
    assert "  doclens  compact notes, json, all, claim_recall: 0.800 -> 0.700 (−0.100, n 190)" in lines
    many = pd.concat([untested.tail(1).assign(metric=f"m{n:02}", b=0.8 - n / 100) for n in range(1, 13)])
    lines = terminal_text(replace(found, values=many.assign(difference=many["b"] - many["a"]))).splitlines()
    (*listed, more) = [line for line in lines if line.startswith(("  doclens", "  ..."))]
    assert len(listed) == 10 and ", m12:" in listed[0] and ", m03:" in listed[-1]
    assert more == "  ... and 2 more in the CSV file"
    page = render_comparison(found)
    assert "those that differ as printed (2) come first" in page and "run `dvc push`" in page and "nan" not in page
    assert "scores of single records are not at hand" in page


def test_values_without_scores_by_record_are_listed_below_what_is_tested() -> None:
    value = MEASURES.head(1).assign(stage="history_qa", metric="score", p=NONE, low=NONE, high=NONE, changed=False)
    found = replace(compared(MEASURES), values=value)
    lines = terminal_text(found).splitlines()
    begins = (
        "measures compared: 1;",
        "values that differ in metric tables of what has no scores by record: 1, none of",
    )
    tested, values = (next(at for at, line in enumerate(lines) if line.startswith(begin)) for begin in begins)
    listed = "  history_qa  compact notes, json, all, score: 0.800 -> 0.700 (−0.100, n 190)"
    assert tested < values < lines.index(listed)
    page = render_comparison(found)
    assert "not marked may have changed" in page and "1 values of the metric tables differ for which" in page
    assert "nothing to test" not in render_comparison(replace(found, measures=MEASURES.iloc[:0]))
