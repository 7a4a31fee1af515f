"""Invented details of a visit: durations and vital signs, consistent with the symptoms."""

import random

from tasks.simulator.writer.draft import Draft, Node

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ACUTE = ((2, "day"), (3, "day"), (4, "day"), (5, "day"), (6, "day"), (7, "day"), (1, "week"), (8, "day"), (10, "day"))
_ACUTE_WEIGHTS = (6, 12, 6, 8, 3, 5, 8, 1, 2)
_LONG = ((2, "week"), (3, "week"), (10, "day"), (1, "month"), (4, "week"), (6, "week"), (2, "month"), (3, "month"))
_LONG_WEIGHTS = (10, 5, 3, 6, 2, 2, 3, 2)
_CHRONIC = ((2, "month"), (3, "month"), (6, "month"), (1, "year"), (2, "year"))


def duration(rng: random.Random, kind: str) -> str | Node:
    """Return a duration in words: "five days", "2 weeks", "a week". ``kind``: acute, long (over a week) or chronic."""
    if kind == "acute":
        number, unit = rng.choices(_ACUTE, _ACUTE_WEIGHTS)[0]
    elif kind == "long":
        number, unit = rng.choices(_LONG, _LONG_WEIGHTS)[0]
    else:
        number, unit = rng.choice(_CHRONIC)
    if number == 1:
        return _single(unit)
    shown = str(number) if rng.random() < 0.22 else _WORDS[number]
    return f"{shown} {unit}s"


def _single(unit: str) -> Node:
    """Write "week" after "the past", otherwise "a week"."""

    def write(draft: Draft) -> None:
        before = "".join(draft.parts[-2:])
        draft.emit(unit if before.endswith(("past ", "last ")) else f"a {unit}")

    return write


def _degrees(rng: random.Random, low: float, high: float, fahrenheit: bool) -> str:
    celsius = rng.uniform(low, high)
    return f"{celsius * 1.8 + 32:.1f}°F" if fahrenheit else f"{celsius:.1f}°C"


def particulars(rng: random.Random, *, breathless: bool, feverish: bool, kind: str) -> dict[str, str | Node]:
    """Return the variables of a visit. ``breathless``, ``feverish``: quick breathing, quick pulse."""
    fahrenheit = rng.random() < 0.3
    side = rng.choice(("right", "left"))
    pulse = rng.randint(92, 112) if feverish else rng.randint(62, 96 if breathless else 88)
    rate = rng.randint(20, 26) if breathless else rng.randint(13, 18)
    return {
        "dur": duration(rng, kind),
        "temp_high": _degrees(rng, 38.7, 40.0, fahrenheit),
        "temp_high_home": _degrees(rng, 39.0, 40.2, fahrenheit),
        "temp_low": _degrees(rng, 37.6, 38.2, fahrenheit),
        "temp_low_home": _degrees(rng, 37.7, 38.3, fahrenheit),
        "temp_normal": _degrees(rng, 36.4, 37.0, fahrenheit),
        "bp": f"{2 * rng.randint(54, 68)}/{2 * rng.randint(35, 43)}",
        "hr": str(pulse),
        "rr": str(rate),
        "rr_high": str(rate if breathless else rng.randint(21, 27)),
        "sat": str(rng.randint(92, 96) if breathless else rng.randint(96, 99)),
        "side": side,
        "side_lobe": f"over the {side} lower lobe",
        "age": str(rng.randint(22, 79)),
        "He": rng.choice(("She", "He")),
    }
