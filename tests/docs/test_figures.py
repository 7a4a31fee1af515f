"""Figures that pages quote are those of the committed tables; a failure shows the text that the page should have."""

from pathlib import Path

import pandas as pd

from tests.statistics.coverage import STUDIES
from tests.statistics.coverage_table import MEASURED, PAGE, short, with_table
from tests.support.cases import each
from tests.support.imports import ROOT

PUBLISHED = ROOT / "reports" / "published" / "tables"


def quoted(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def row(folder: Path, table: str, **where: str) -> pd.Series:
    """The row of a table with these values."""
    found = pd.read_csv(folder / f"{table}.csv")
    (one,) = found[(found[list(where)] == pd.Series(where)).all(axis=1)].to_dict("records")
    return pd.Series(one)


def correlation(system: str, score: str, summaries: str, item: str) -> str:
    place = {"system": system, "condition": f"{score}, {summaries}", "item": item, "metric": "pearson"}
    one = row(PUBLISHED, "human_agreement", **place)
    value, low, high = (f"{number:.2f}".replace("0.", ".", 1) for number in (one["value"], one["low"], one["high"]))
    assert one["n"] == (320 if summaries == PARTS[0] else 164)
    return f"{value} ({low} to {high})"


METRICS = {
    "claim recall": "claim_recall",
    "claim recall in degrees": "claim_recall_graded",
    "ROUGE-1 recall": "rouge1_r",
    "claim precision": "claim_precision",
    "supported claims": "claims_supported",
    "contradicted claims": "claims_contradicted",
}
MODEL = "strong model (recorded), dialogues not read"
PARTS = ("all summaries", "3 claims or more")


@each("name", METRICS)
def test_agreement_with_people(name: str) -> None:
    scores = [(score, part) for score in ("FactualRecall", "FactualPrecision") for part in PARTS]
    cells = [correlation(MODEL, score, part, METRICS[name]) for score, part in scores]
    assert f"| {' | '.join([name, *cells])} |" in quoted("docs/agreement.md")


@each(
    "name, system",
    [
        ("nothing", "unadjusted"),
        ("tables without symptoms",) * 2,
        ("tables and embeddings of the notes",) * 2,
        ("tables and spans of the notes",) * 2,
        ("tables with symptoms",) * 2,
        ("tables with symptoms and noise",) * 2,
    ],
)
def test_text_as_confounder(name: str, system: str) -> None:
    bias, coverage = (row(PUBLISHED, "text_confounding", system=system, metric=m) for m in ("bias", "coverage"))
    interval = f"{bias['value']:.2f} ({bias['low']:.2f} to {bias['high']:.2f})"
    assert f"| {name} | {interval} | {coverage['value']:.2g} |" in quoted("docs/confounding.md")


SYMPTOMS = {
    "cough": "cough",
    "dyspnea": "dyspnea",
    "fever": "fever",
    "nasal": "nasal symptoms",
    "pain": "respiratory pain",
}
LIMIT = 0.01


def test_text_with_tables_against_the_text_models() -> None:
    pairs = pd.read_csv(PUBLISHED / "baselines_text_paired.csv")
    of = pairs[(pairs["system"] == "BN-text") & (pairs["metric"] == "f1_difference")]
    cells, page = of.assign(half=(of["high"] - of["low"]) / 2), quoted("docs/baselines.md")
    for symptom, own in cells.groupby("item"):
        half = f"{own['half'].min():.3f}-{own['half'].max():.3f}"
        counts = f"{(own['half'] > LIMIT).sum()} of {len(own)} | {(own['low'] >= -LIMIT).sum()}"
        assert f"| {SYMPTOMS[str(symptom)]} | {half} | {counts} |" in page
    better, worse, met = (cells["low"] > 0).sum(), (cells["high"] < 0).sum(), (cells["low"] >= -LIMIT).sum()
    assert f"{met} cells meet the limit. {better} are better" in page and f"{worse} are worse" in page
    mean = cells.groupby("condition")["value"].mean()
    said = f"between {mean.min():.3f} and {mean.max():.3f}; it is below 0 in {(mean < 0).sum()} of {len(mean)}"
    assert said in page


def test_the_page_of_coverage_shows_the_measurements_of_every_interval_that_is_simulated() -> None:
    measured = pd.read_csv(MEASURED)
    assert set(measured["interval"]) == set(STUDIES)
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page, measured) == page
    assert short(measured) == []
