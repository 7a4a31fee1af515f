"""Records reviewed notes as MLflow traces: prompt and note, with the judge's and each person's ratings as feedback."""

import mlflow
from mlflow.entities import AssessmentSource, AssessmentSourceType
from mlflow.tracking import MlflowClient

from tasks.tracking.recording import Reviewed

SAMPLE = 20
"""Notes per lineage. A trace takes some 25 ms and 9 kB."""


def log_traces(client: MlflowClient, uri: str, experiment_id: str, run_id: str, reviewed: Reviewed) -> None:
    """Record the first notes of ``reviewed`` as traces of a run.

    Notes that a person rated come first, because their feedback can be compared with the judge's.
    """
    mlflow.set_tracking_uri(uri)  # feedback has no client of its own
    by_people = set(reviewed.ratings.loc[reviewed.ratings["rater_kind"] == "person", "record"])
    notes = reviewed.notes.assign(order=[record not in by_people for record in reviewed.notes["record"]])
    traces = {}
    for row in notes.sort_values(["order", "record"]).head(SAMPLE).itertuples():
        span = client.start_trace(
            "write",
            span_type="LLM",
            inputs={"prompt": row.prompt},
            tags={"record": str(row.record), "type": str(row.type)},
            experiment_id=experiment_id,
            run_id=run_id,
        )
        client.end_trace(span.trace_id, outputs={"note": row.note, "compact": row.compact})
        traces[int(row.record)] = span.trace_id
    mlflow.flush_trace_async_logging()  # feedback needs the traces in the store
    for record, trace_id in traces.items():
        _log_feedback(trace_id, reviewed, record)


def delete_traces(client: MlflowClient, experiment_id: str, run_id: str) -> None:
    """Delete the traces of a run."""
    found = client.search_traces(
        locations=[experiment_id], filter_string=f"metadata.`mlflow.sourceRun` = '{run_id}'", include_spans=False
    )
    if ids := [trace.info.trace_id for trace in found]:
        client.delete_traces(experiment_id, trace_ids=ids)


def _log_feedback(trace_id: str, reviewed: Reviewed, record: int) -> None:
    for rating in reviewed.ratings[reviewed.ratings["record"] == record].itertuples():
        is_person = rating.rater_kind == "person"
        kind = AssessmentSourceType.HUMAN if is_person else AssessmentSourceType.LLM_JUDGE
        source = AssessmentSource(source_type=kind, source_id=str(rating.rater) if is_person else reviewed.judge)
        mlflow.log_feedback(trace_id=trace_id, name=str(rating.aspect), value=int(rating.rating), source=source)
