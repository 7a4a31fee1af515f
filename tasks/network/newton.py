"""Maximum likelihood by projected Newton steps (Bertsekas 1982), for many data sets at once."""

import numpy as np

from tasks.network.distributions import Floats
from tasks.network.likelihoods import Likelihood

RIDGE = 1e-6
"""Weight of a ridge penalty. Too small to change a parameter in the digits shown, it keeps parameters without data (a
parent value that no record has) at 0 and parameters with an infinite estimate finite."""

_STEPS, _HALVINGS, _TOLERANCE = 200, 40, 1e-10


def maximise(design: Floats, n: Floats, s: Floats, likelihood: Likelihood) -> Floats:
    """The parameters that maximise the likelihood, shape (data sets, parameters).

    ``design`` (combinations, parameters); ``n`` and ``s`` (data sets, combinations) as in `tasks.network.likelihoods`.
    """
    w = np.full((len(n), design.shape[1]), likelihood.start)
    products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    moving = np.arange(len(n))
    with np.errstate(all="ignore"):  # too long a step gives infinities and is halved
        for _ in range(_STEPS):
            step = _step(design, products, n[moving], s[moving], likelihood, w[moving])
            w[moving], moved = _search(design, n[moving], s[moving], likelihood, w[moving], step)
            moving = moving[moved > _TOLERANCE]
            if moving.size == 0:
                break
    return w


def _step(design: Floats, products: Floats, n: Floats, s: Floats, likelihood: Likelihood, w: Floats) -> Floats:
    _, first, second = likelihood.terms(w @ design.T, n, s)
    gradient = first @ design - RIDGE * w
    size = design.shape[1]
    hessian = (-second @ products).reshape(-1, size, size) + RIDGE * np.eye(size)
    free = (w > likelihood.lowest) | (gradient > 0)
    both = free[:, :, None] & free[:, None, :]
    hessian = np.where(both, hessian, np.eye(size))
    solved = np.linalg.solve(hessian, np.where(free, gradient, 0.0)[:, :, None])[:, :, 0]
    return np.asarray(solved, dtype=float)


def _search(
    design: Floats, n: Floats, s: Floats, likelihood: Likelihood, w: Floats, step: Floats
) -> tuple[Floats, Floats]:
    """Halve each data set's step until its likelihood does not decrease.

    Returns the new parameters and the largest change of each data set.
    """
    before = _objective(design, n, s, likelihood, w)
    best, waiting, length = w.copy(), np.arange(len(w)), 1.0
    for _ in range(_HALVINGS):
        tried = np.maximum(w[waiting] + length * step[waiting], likelihood.lowest)
        after = _objective(design, n[waiting], s[waiting], likelihood, tried)
        good = after >= before[waiting]
        best[waiting[good]] = tried[good]
        waiting, length = waiting[~good], length / 2
        if waiting.size == 0:
            break
    return best, np.abs(best - w).max(axis=1)


def _objective(design: Floats, n: Floats, s: Floats, likelihood: Likelihood, w: Floats) -> Floats:
    value = likelihood.terms(w @ design.T, n, s)[0].sum(axis=1) - RIDGE / 2 * (w**2).sum(axis=1)
    return np.where(np.isnan(value), -np.inf, value)
