"""Cross-fitted doubly robust estimation of a treatment effect on a count, and the unadjusted difference.

Augmented inverse probability weighting (Robins, Rotnitzky and Zhao 1994) with cross-fitting (Chernozhukov et al. 2018):
consistent if the outcome model or the propensity model is. Columns are selected by L1-penalised regressions of the
treatment and of the outcome, and all that either selects are adjusted for (double selection; Belloni, Chernozhukov and
Hansen 2014): a ridge on sixty columns of noise shrinks the confounders too, and weights by noise. The estimate is the
median over repeated partitions (Chernozhukov et al. 2018, Definition 3.3).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor
from sklearn.model_selection import StratifiedKFold

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Model = Literal["outcome", "propensity"]

CLIP = 0.01
"""Propensities are kept this far from 0 and 1."""
OVERLAP = 0.05
"""Records with a propensity this far from 0 and 1 have peers in the other arm."""
RIDGE = 0.01
"""Penalty of the outcome model per record, on standardised columns."""
INVERSE_RIDGE = 0.1
"""scikit-learn's C of the propensity model, on standardised columns."""
_MARGIN, _ROUNDS, _TINY = 1.1, 2, 1e-9
_ITERATIONS = 300
_QUANTILE = float(norm.ppf(0.975))


@dataclass(frozen=True)
class Estimate:
    """An effect with the standard error of its asymptotic normal distribution, and how well the data support it.

    ``overlap``: share of records whose propensity is `OVERLAP` away from 0 and 1. ``effective_size``: Kish's effective
    number of records of the smaller arm under the weights. ``robustness``: share of the remaining variance of treatment
    and of outcome that a confounder would have to explain to move the effect to 0 (the robustness value of Cinelli and
    Hazlett 2020, for cross-fitted estimates as in Chernozhukov et al. 2022).
    """

    effect: float
    error: float
    overlap: float = np.nan
    effective_size: float = np.nan
    robustness: float = np.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval."""
        return self.effect - _QUANTILE * self.error, self.effect + _QUANTILE * self.error


def difference(treated: Flags, outcome: Floats) -> Estimate:
    """Difference of the arms' means, unadjusted; standard error of unequal variances."""
    arms = [outcome[treated], outcome[~treated]]
    error = np.sqrt(sum(arm.var(ddof=1) / len(arm) for arm in arms))
    return Estimate(float(arms[0].mean() - arms[1].mean()), float(error))


def doubly_robust(
    design: Floats,
    treated: Flags,
    outcome: Floats,
    *,
    folds: int,
    seed: int,
    repeats: int = 1,
    constant: Model | None = None,
) -> Estimate:
    """E[outcome | do(treated)] - E[outcome | do(not treated)], adjusted for ``design``.

    ``design`` (n, columns), ``treated`` and ``outcome`` (n,). Each record's nuisances come from models that were fitted
    to other folds: a Poisson regression of the outcome in each arm, and a logistic regression of the treatment. The
    model ``constant`` is wrong on purpose: it ignores the design. The variance adds that between ``repeats``.
    """
    parts = [_once(design, treated, outcome, folds, seed * repeats + repeat, constant) for repeat in range(repeats)]
    effects, errors = np.array([part.effect for part in parts]), np.array([part.error for part in parts])
    effect = float(np.median(effects))
    error = float(np.sqrt(np.median(errors**2 + (effects - effect) ** 2)))
    names = ("overlap", "effective_size", "robustness")
    return Estimate(effect, error, *(float(np.median([getattr(part, name) for part in parts])) for name in names))


def _once(
    design: Floats,
    treated: Flags,
    outcome: Floats,
    folds: int,
    seed: int,
    constant: Model | None,
) -> Estimate:
    """The estimate of one partition."""
    expected, propensity = np.empty((2, len(outcome))), np.empty(len(outcome))
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(design, treated):
        inputs, others = _standardised(design[train], design[test])
        kept = _selected(inputs, treated[train], outcome[train])
        inputs, others = inputs[:, kept], others[:, kept]
        own = (inputs, others) if constant != "outcome" else (inputs[:, :0], others[:, :0])
        for arm in (False, True):
            expected[int(arm), test] = _outcome_model(own[0], outcome[train], treated[train] == arm, own[1])
        own = (inputs, others) if constant != "propensity" else (inputs[:, :0], others[:, :0])
        propensity[test] = _propensity(own[0], treated[train], own[1])
    return _combined(treated, outcome, expected, propensity)


def _combined(treated: Flags, outcome: Floats, expected: Floats, propensity: Floats) -> Estimate:
    """The estimate from nuisances (2, n) and (n,): the mean of the uncentred influence function, and its support."""
    residual = outcome - np.where(treated, expected[1], expected[0])
    weight = np.where(treated, 1 / propensity, 1 / (1 - propensity))
    scores = expected[1] - expected[0] + np.where(treated, 1, -1) * weight * residual
    effect, error = float(scores.mean()), float(scores.std(ddof=1) / np.sqrt(len(scores)))
    inside = (propensity > OVERLAP) & (propensity < 1 - OVERLAP)
    sizes = [weight[treated == arm].sum() ** 2 / (weight[treated == arm] ** 2).sum() for arm in (False, True)]
    scale = float((residual**2).mean() * (weight**2).mean())
    strength = effect**2 / scale if scale > 0 else np.inf
    robustness = (np.sqrt(strength**2 + 4 * strength) - strength) / 2 if np.isfinite(strength) else 1.0
    return Estimate(effect, error, float(inside.mean()), float(min(sizes)), float(robustness))


def _selected(inputs: Floats, treated: Flags, outcome: Floats) -> Flags:
    """Columns with a weight in the L1-penalised model of the treatment, or of the outcome in an arm.

    Penalties are those at which a column of noise is hardly ever selected (Belloni, Chernozhukov and Wei 2016), so that
    they need no cross-validation, which selects for prediction and keeps noise.
    """
    records, columns = inputs.shape
    quantile = _MARGIN * norm.ppf(1 - 0.1 / np.log(records) / (2 * columns))
    strength = 2 / (np.sqrt(records) * quantile)
    settings: dict[str, Any] = {"l1_ratio": 1.0, "solver": "liblinear", "random_state": 0}  # liblinear shuffles
    settings["intercept_scaling"] = 100  # as liblinear penalises the intercept
    weights = [LogisticRegression(C=strength, **settings).fit(inputs, treated).coef_[0]]
    for arm in (False, True):
        own, values = inputs[treated == arm], outcome[treated == arm]
        deviation = values.std()
        for _ in range(_ROUNDS):  # of the residuals, which are known only once the model is
            lasso = Lasso(max(quantile * deviation / np.sqrt(len(values)), _TINY)).fit(own, values)
            deviation = (values - lasso.predict(own)).std()
        weights.append(lasso.coef_)
    return np.asarray(np.abs(weights).max(axis=0) > 0)


def _outcome_model(inputs: Floats, outcome: Floats, arm: Flags, others: Floats) -> Floats:
    """Predictions for ``others`` of a Poisson regression on the arm's records, at most the largest outcome."""
    if inputs.shape[1] == 0:
        return np.full(len(others), outcome[arm].mean())
    model = PoissonRegressor(alpha=RIDGE, solver="newton-cholesky", max_iter=_ITERATIONS).fit(inputs[arm], outcome[arm])
    with np.errstate(over="ignore"):
        return np.minimum(model.predict(others), outcome[arm].max())


def _propensity(inputs: Floats, treated: Flags, others: Floats) -> Floats:
    if inputs.shape[1] == 0:
        return np.full(len(others), treated.mean())
    model = LogisticRegression(C=INVERSE_RIDGE, solver="newton-cholesky", max_iter=_ITERATIONS).fit(inputs, treated)
    return np.clip(model.predict_proba(others)[:, 1], CLIP, 1 - CLIP)


def _standardised(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Both scaled by mean and deviation of ``train``; constant columns become 0."""
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    return (train - mean) / scale, (test - mean) / scale
