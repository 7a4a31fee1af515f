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
    },
    key=["id"],
    name="cases",
    description="Claims to judge against a premise: the cases, and their variants with the same truth.",
)
