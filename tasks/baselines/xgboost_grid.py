"""The grid of Appendix F.2, in the order of scikit-learn's GridSearchCV."""

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from schemas.params.baselines import GridName


@dataclass(frozen=True, order=True)
class Combination:
    """One combination of hyper-parameters. Fields are in ParameterGrid's order: by name, the last varying fastest."""

    colsample_bytree: float
    gamma: float
    learning_rate: float
    max_depth: int
    min_child_weight: int
    n_estimators: int
    subsample: float

    def as_dict(self) -> dict[str, Any]:
        """Keyword arguments of an XGBClassifier."""
        return asdict(self)


PUBLISHED: dict[str, tuple[Any, ...]] = {
    "colsample_bytree": (0.8, 1),
    "gamma": (0, 0.1, 0.3),
    "learning_rate": (0.01, 0.1, 0.2),
    "max_depth": (2, 3, 4, 5),
    "min_child_weight": (1, 5, 10),
    "n_estimators": (50, 100, 200),
    "subsample": (0.8, 1),
}
"""1,296 combinations (Appendix F.2)."""

QUICK: dict[str, tuple[Any, ...]] = {
    **PUBLISHED,
    "colsample_bytree": (1,),
    "gamma": (0,),
    "max_depth": (2, 4),
    "min_child_weight": (1, 5),
}
"""72 combinations, for quick runs."""

GRIDS: dict[GridName, dict[str, tuple[Any, ...]]] = {"published": PUBLISHED, "quick": QUICK}


def combinations(grid: GridName) -> list[Combination]:
    """All combinations of a grid in GridSearchCV's order, which breaks ties."""
    options = GRIDS[grid]
    names = sorted(options)
    products = product(*(options[name] for name in names))
    return [Combination(**dict(zip(names, values, strict=True))) for values in products]
