"""What the writer plans before it writes: a sentence of the history, a finding of the examination."""

from dataclasses import dataclass

from tasks.simulator.writer.line import Node


@dataclass
class Piece:
    """A planned sentence and where in the history it would like to stand."""

    place: float
    node: Node
    says: str = ""  # "present" or "absent" where it tells of a symptom: the two do not share a sentence


@dataclass
class Finding:
    """One thing examined: how it reads as a sentence, and after a label ("Lungs: ..."), if it can."""

    order: float
    prose: Node
    label: str | None = None
    short: Node | None = None
    joins: bool = True  # whether it may share a sentence with the finding before or after
