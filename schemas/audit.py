"""Tables of `vignette audit`."""

import pandera.pandas as pa

from schemas.tables.columns import count, table, text

VERDICTS = table(
    {
        "judge": text(description="label of the judge"),
        "case": text(description="the same for a case and its variants"),
        "task": text(description="claims, omissions, citations, ..."),
        "kind": text(description="how the case was made"),
        "factor": text(description='what was changed that should not matter; "" for the case itself'),
        "document": text(),
        "text": text(description="the claim, fact or statement that is judged"),
        "place": count(description="0: first in its call"),
        "truth": pa.Column(bool, description="the right answer"),
        "judged": pa.Column("boolean", nullable=True, description="null: the judgement failed"),
    },
    key=["judge", "case", "factor"],
    name="verdicts",
    description="One answer of a judge a row; every figure of a card is computed from these.",
)

CASES = table(
    {
        "id": text(),
        "case": text(),
        "task": text(),
        "kind": text(),
        "factor": text(),
        "document": text(),
        "premise": text(description="the text to judge by"),
        "claim": text(),
        "call": text(description="claims of one call share it, in the order of the rows"),
        "truth": pa.Column(bool),
        "pair": text(description='id of a case that differs in one thing; "" for none'),
    },
    key=["id"],
    name="cases",
    description="What a judge is asked: cases of every task, and variants of claims with the same truth.",
)

ROUNDS = table(
    {
        "round": count(description="from 1 on; the first ones are the reference"),
        "task": text(),
        "truth": pa.Column(bool, description="true: sensitivity, false: specificity"),
        "n": count(description="cases with a verdict"),
        "right": count(),
        "unscored": count(),
    },
    key=["round", "task", "truth"],
    name="rounds",
    description="What a monitored judge answered in each round.",
)
