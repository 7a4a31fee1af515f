"""SimSUM's evidence settings (Section 3.2), embeddings and predictions. Vectors are in .npy files, never pickled."""

from typing import Literal, Protocol, get_args

from schemas.errors import NetworkError
from schemas.tables.columns import NOTE_VERSION, RECORD, SECTION, SYMPTOM, category, count, number, table, text

EvidenceSetting = Literal["all", "no-sympt", "realistic"]
EVIDENCE_SETTINGS: tuple[EvidenceSetting, ...] = get_args(EvidenceSetting)


class TypedVariables(Protocol):
    """The part of a network definition that evidence settings depend on."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Variable names in order."""
        ...

    def type_of(self, name: str) -> str:
        """The type of a variable."""
        ...

    def is_recorded(self, name: str) -> bool:
        """Whether a realistic patient record would contain the variable."""
        ...


def evidence_columns(definition: TypedVariables, target: str, setting: EvidenceSetting) -> list[str]:
    """Evidence variables for ``target`` in a setting, in the order of the definition.

    ``all``: every other variable. ``no-sympt``: all except symptoms. ``realistic``: those of ``no-sympt`` that a
    realistic patient record would contain. Raises NetworkError for an unknown target or setting.
    """
    if target not in definition.variables:
        raise NetworkError(f"no variable {target!r} to predict; the network has {', '.join(definition.variables)}")
    others = [name for name in definition.variables if name != target]
    if setting == "all":
        return others
    without = [name for name in others if definition.type_of(name) != "symptom"]
    if setting == "no-sympt":
        return without
    if setting == "realistic":
        return [name for name in without if definition.is_recorded(name)]
    raise NetworkError(f"unknown evidence setting {setting!r}; expected one of {', '.join(EVIDENCE_SETTINGS)}")


NOTE_SENTENCES = table(
    {
        "record": RECORD,
        "version": NOTE_VERSION,
        "section": SECTION,
        "position": count(),
        "vector": count(description="row of the vectors file"),
    },
    key=["record", "version", "section", "position"],
    name="note_sentences",
)

SPAN_VECTORS = table(
    {"record": RECORD, "version": NOTE_VERSION, "symptom": SYMPTOM, "position": count(), "vector": count()},
    key=["record", "version", "symptom", "position"],
    name="span_vectors",
)

PREDICTIONS = table(
    {
        "record": count(description="test records only"),
        "system": text(),
        "condition": text(),
        "symptom": SYMPTOM,
        "seed": count(),
        "label": text(),
        "predicted": text(),
        "value": text(description="the class that the probability refers to"),
        "probability": number(low=0, high=1),
    },
    key=["record", "system", "condition", "symptom", "seed", "value"],
    name="predictions",
)

SPLIT = table({"record": RECORD, "part": category("train", "test")}, key=["record"], name="split")

TUNED = table(
    {
        "symptom": SYMPTOM,
        "setting": text(),
        "grid": text(),
        "combinations": count(),
        "colsample_bytree": number(),
        "gamma": number(),
        "learning_rate": number(),
        "max_depth": number(),
        "min_child_weight": number(),
        "n_estimators": number(),
        "subsample": number(),
        "score": number(nullable=True, description="mean F1 over folds (macro for more than two values)"),
    },
    key=["symptom", "setting"],
    name="tuned",
    description="Hyper-parameters that XGBoost-tab chose.",
)

RELIABILITY = table(
    {
        "system": text(),
        "condition": text(),
        "symptom": SYMPTOM,
        "value": text(description="the class that the probabilities refer to"),
        "bin": count(),
        "predicted": number(low=0, high=1, description="mean probability in the bin"),
        "observed": number(low=0, high=1, description="share of records that have the value"),
        "n": count(),
    },
    key=["system", "condition", "symptom", "value", "bin"],
    name="reliability",
    description="Reliability curves; seeds of a model are taken together.",
)
