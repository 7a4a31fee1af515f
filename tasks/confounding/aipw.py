"""Cross-fitted doubly robust estimation of a treatment effect on a count, and the unadjusted difference.

Augmented inverse probability weighting (Robins, Rotnitzky and Zhao 1994) with cross-fitting (Chernozhukov et al. 2018):
consistent if the outcome model or the propensity model is.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.model_selection import StratifiedKFold

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CLIP = 0.01
"""Propensities are kept this far from 0 and 1."""
RIDGE = 0.01
"""Penalty of the outcome model per record, on standardised columns."""
INVERSE_RIDGE = 0.1
"""scikit-learn's C of the propensity model, on standardised columns."""
_ITERATIONS = 300
_QUANTILE = float(norm.ppf(0.975))


@dataclass(frozen=True)
class Estimate:
    """An effect with the standard error of its asymptotic normal distribution."""

    effect: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval."""
        return self.effect - _QUANTILE * self.error, self.effect + _QUANTILE * self.error


def difference(treated: Flags, outcome: Floats) -> Estimate:
    """Difference of the arms' means, unadjusted; standard error of unequal variances."""
    arms = [outcome[treated], outcome[~treated]]
    error = np.sqrt(sum(arm.var(ddof=1) / len(arm) for arm in arms))
    return Estimate(float(arms[0].mean() - arms[1].mean()), float(error))


def doubly_robust(design: Floats, treated: Flags, outcome: Floats, *, folds: int, seed: int) -> Estimate:
    """E[outcome | do(treated)] - E[outcome | do(not treated)], adjusted for ``design``.

    ``design`` (n, columns), ``treated`` and ``outcome`` (n,). Each record's nuisances come from models that were fitted
    to other folds: a Poisson regression of the outcome in each arm, and a logistic regression of the treatment.
    """
    scores = np.empty(len(outcome))
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(design, treated):
        inputs, others = _standardised(design[train], design[test])
        fitted = [_outcome_model(inputs, outcome[train], treated[train] == arm, others) for arm in (False, True)]
        propensity = _propensity(inputs, treated[train], others)
        scores[test] = _influence(treated[test], outcome[test], fitted[0], fitted[1], propensity)
    return Estimate(float(scores.mean()), float(scores.std(ddof=1) / np.sqrt(len(scores))))


def _influence(treated: Flags, outcome: Floats, control: Floats, active: Floats, propensity: Floats) -> Floats:
    """The uncentred influence function of each record, whose mean is the estimate."""
    residual = np.where(treated, (outcome - active) / propensity, -(outcome - control) / (1 - propensity))
    return active - control + residual


def _outcome_model(inputs: Floats, outcome: Floats, arm: Flags, others: Floats) -> Floats:
    """Predictions for ``others`` of a Poisson regression on the arm's records, at most the largest outcome."""
    model = PoissonRegressor(alpha=RIDGE, solver="newton-cholesky", max_iter=_ITERATIONS).fit(inputs[arm], outcome[arm])
    with np.errstate(over="ignore"):
        return np.minimum(model.predict(others), outcome[arm].max())


def _propensity(inputs: Floats, treated: Flags, others: Floats) -> Floats:
    model = LogisticRegression(C=INVERSE_RIDGE, solver="newton-cholesky", max_iter=_ITERATIONS).fit(inputs, treated)
    return np.clip(model.predict_proba(others)[:, 1], CLIP, 1 - CLIP)


def _standardised(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Both scaled by mean and deviation of ``train``; constant columns become 0."""
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    return (train - mean) / scale, (test - mean) / scale
