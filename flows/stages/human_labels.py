"""Stage `human_labels`: judges calibrated with human labels, from returned forms and from CSV files."""

import pandas as pd

from flows.runtime.stage import Stage
from tasks.judges.human_labels import file_rows, form_rows

FORMS = {
    "omissions": "omission_labels",
    "ratings": "rating_labels",
    "questions": "question_labels",
    "spans": "span_labels",
}
"""Table of labels by kind of form."""


async def run(stage: Stage) -> None:
    """Estimate the share of verdicts that hold, for each form and file."""
    seed = stage.params.seed
    tables = [form_rows(stage.load(stem), kind, seed=seed) for kind, stem in FORMS.items()]
    tables += [file_rows(file, seed=seed) for file in sorted(stage.dep("labels_returned").glob("*.csv"))]
    stage.save_metrics("human_labels", pd.concat(tables, ignore_index=True))
