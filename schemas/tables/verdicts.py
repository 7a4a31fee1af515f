"""The table in which somebody judged units of texts: claims, statements, citations, facts, answers."""

from schemas.tables.columns import number, table, text

VERDICTS = table(
    {
        "document": text(description="record id, or the id of an outside document"),
        "system": text(description="whose text was judged"),
        "condition": text(description="how it was judged: evaluator, evidence, variant; as in METRICS"),
        "item": text(description='section, or "all" for texts judged as a whole'),
        "metric": text(description="what was asked of the unit"),
        "unit": text(description='number or name of the unit in its text; "lost" if the text itself is missing'),
        "text": text(description='claim, statement, fact, ...; "" where it is not known which there are'),
        "value": number(nullable=True, description="a share, unless the metric has other bounds; null: failed"),
        "verdict": text(nullable=True, description="the judge's word, where it says more than the value"),
        "weight": number(nullable=True, low=0, description="what the unit counts; null: unknown"),
        "truth": number(nullable=True, low=0, high=1, description="the right value, of cases that have one"),
        "kind": text(nullable=True, description="of case, where there are several"),
        "judge": text(description="the model that judged, or the judge's name"),
        "reason": text(nullable=True, description="the judge's explanation, if it gave one"),
    },
    key=["document", "system", "condition", "item", "metric", "unit", "judge"],
    name="verdicts",
    description="One judgement of one unit a row; every figure of a measure is computed from these.",
)
