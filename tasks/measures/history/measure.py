"""The metrics of summaries of patients over time against the record."""

from dataclasses import replace

from tasks.measures.declared import Declared
from tasks.measures.doclens.judging import GRADED, METRICS
from tasks.measures.grounding.grounding import METRICS as OF_SOURCE
from tasks.measures.measure import Metric, Metrics

STAGE = "history_summaries"
RECALL, ERRORS = "true_recall", "true_errors"


def _against_record(metrics: Metrics, name: str, meaning: str) -> Metric:
    """A metric whose reference or source is the record."""
    metric = metrics[name]
    return replace(metric, of=metric.of or name, meaning=meaning, label="", compared=False, task=None)


# --8<-- [start:metrics]
OF_FACTS: Metrics = {
    RECALL: _against_record(
        METRICS, "claim_recall", "share of the record's facts that the summary states, by the judge"
    ),
    f"{RECALL}_graded": _against_record(
        GRADED, "claim_recall_graded", "the same, where a fact that is stated in part counts half"
    ),
}
OF_STATEMENTS: Metrics = {
    ERRORS: _against_record(
        OF_SOURCE, "claims_contradicted", "share of the summary's statements that contradict the record, by the judge"
    ),
    "true_precision": _against_record(
        OF_SOURCE, "claims_supported", "share of the summary's statements that the record supports, by the judge"
    ),
}
# --8<-- [end:metrics]
MEASURE = Declared(STAGE, {**OF_FACTS, **OF_STATEMENTS})
