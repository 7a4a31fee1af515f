"""What the table of summaries of patients over time says: metrics against the record, and what it computes of all."""

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
MEANINGS = {
    "known_recall": "share of the record's facts that it states, by construction",
    "known_precision": "share of its statements that are true, by construction",
    "length": "words without citation marks",
    "over_limit": "share of summaries with more words than asked for; they are kept whole",
    "difference": "mean difference between the longest and the shortest limit, paired by patient and purpose",
    "slope": "mean slope of the item on the truth over the doses of a damage, signed so that following is positive",
    "follows_truth": "1 if the interval of that slope is above 0, for metrics that have to notice the damage",
    "spearman": "rank correlation of the item with true recall over summaries",
    "kendall_of_systems": (
        "Kendall's tau of the systems' means of the item with their true recall; for weights, with the ranks under the "
        "paper's weights of facts"
    ),
}
"""Of what the table computes beyond means of verdicts."""
# --8<-- [end:metrics]
MEASURE = Declared(STAGE, {**OF_FACTS, **OF_STATEMENTS}, of_table={STAGE: MEANINGS})
