"""SimSUM's evidence settings (Section 3.2): the variables from which one is predicted."""

from typing import Literal, get_args

from schemas.errors import NetworkError
from tasks.network.graph import NetworkDefinition

EvidenceSetting = Literal["all", "no-sympt", "realistic"]
EVIDENCE_SETTINGS: tuple[EvidenceSetting, ...] = get_args(EvidenceSetting)


def evidence_columns(definition: NetworkDefinition, target: str, setting: EvidenceSetting) -> list[str]:
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
