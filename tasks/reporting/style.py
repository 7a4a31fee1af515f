"""Matplotlib settings and colours of all figures."""

from typing import Any

SETTINGS: Any = {
    "svg.hashsalt": "vignette",  # fixes the ids of SVG elements
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e3e8ed",
}
COLOURS = ("#0b6b74", "#d89614", "#7b5aa6", "#b3261e", "#4c8c4a", "#5d6b7a")
