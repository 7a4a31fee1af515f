"""How figures are written: as many digits as tell something, and a dash for none."""

import math


def number(value: float | None) -> str:
    """A figure as shown: three decimals below 10, one above, whole numbers plain, a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:,.1f}"
    if abs(value) < 0.0005:
        return "<0.001" if value > 0 else ">−0.001"
    return f"{value:.3f}".replace("-", "−")


def percent(value: float) -> str:
    """A share as a percentage with one decimal, whole ones plain."""
    return f"{100 * value:.1f}".removesuffix(".0") + "%"


def decimals(values: list[float]) -> int:
    """The decimals with which a column was printed: the most that any of its figures needs, four at most."""
    return max((len(f"{value:.4f}".rstrip("0").partition(".")[2]) for value in values), default=0)


def fixed(value: float | None, places: int) -> str:
    """A figure with that many decimals; a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.{places}f}".replace("-", "−")
