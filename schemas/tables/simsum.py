"""SimSUM's printed tables, whose rows and columns are variables of its network of respiratory disease."""

from schemas.tables.columns import category, number, table, text

_SYMPTOMS = ("dyspnea", "cough", "pain", "nasal", "fever")
_NO_YES = category("no", "yes")
_FEVER = category("none", "low", "high")

PRINTED_ANTIBIOTICS = table(
    {
        "dyspnea": _NO_YES,
        "cough": _NO_YES,
        "pain": _NO_YES,
        "fever": _FEVER,
        "expert_label": _NO_YES,
        "predicted_probability": number(low=0, high=1),
    },
    key=["dyspnea", "cough", "pain", "fever"],
    name="printed_antibiotics",
)
"""SimSUM's Table 7; all cases with policy = low."""

PRINTED_DAYS = table(
    {
        "dyspnea": _NO_YES,
        "cough": _NO_YES,
        "pain": _NO_YES,
        "nasal": _NO_YES,
        "fever": _FEVER,
        "label_without_antibiotics": number(low=0),
        "predicted_without": number(low=0),
        "label_with_antibiotics": number(low=0),
        "predicted_with": number(low=0),
    },
    key=["dyspnea", "cough", "pain", "nasal", "fever"],
    name="printed_days",
)
"""SimSUM's Tables 8 and 9; all cases with self-employed = no."""

PRINTED_TABLE_5 = table(
    {
        "model": text(),
        "setting": text(),
        **{s: number(low=0, high=1) for s in _SYMPTOMS},
    },
    key=["model", "setting"],
    name="printed_table_5",
)
"""SimSUM's Table 5: F1, macro for fever."""

PRINTED_TABLE_6 = table(
    {
        "note": text(),
        "embedding": text(),
        **{s: number(low=0, high=1) for s in _SYMPTOMS},
    },
    key=["note", "embedding"],
    name="printed_table_6",
)
"""SimSUM's Table 6: F1 of neural-text by embedding, macro for fever."""
