"""Formats numbers for display; missing values are dashes."""

import math


def number(value: float | None) -> str:
    """Three decimals below 10, one above; integers without decimals; a dash for a missing value."""
    if value is None or math.isnan(value):
        return "–"
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{value:,.0f}".replace("-", "−")
    if abs(value) >= 10:
        return f"{value:,.1f}".replace("-", "−")
    if abs(value) < 0.0005:
        return "<0.001" if value > 0 else ">−0.001"
    return f"{value:.3f}".replace("-", "−")


def percent(value: float | None) -> str:
    """A share in 0-1 as percent with one decimal, 0% and 100% without; a dash for a missing value."""
    if value is None or math.isnan(value):
        return "–"
    if 0 < abs(value) < 0.0005:
        return "<0.1%" if value > 0 else ">−0.1%"
    if value in (-1, 0, 1):
        return f"{100 * value:.0f}%".replace("-", "−")
    return f"{100 * value:.1f}%".replace("-", "−")


def decimals(values: list[float]) -> int:
    """Number of decimals with which a column was printed: the largest among its values, at most four."""
    return max((len(f"{value:.4f}".rstrip("0").partition(".")[2]) for value in values), default=0)


def fixed(value: float | None, places: int) -> str:
    """Value with ``places`` decimals; a dash for a missing value."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.{places}f}".replace("-", "−")
