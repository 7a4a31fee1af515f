"""Soft evidence on several variables: an uncertain source reports a distribution for each of them.

Of all joint distributions with the reported marginals, the one closest to the prior in relative entropy multiplies the
prior by one factor per variable (Csiszar 1975), found by iterative proportional fitting (Deming and Stephan 1940). The
factors are the likelihoods of the source's report, so they also update the distribution given further evidence (virtual
evidence; Pearl 1988, Section 2.2.2). Arrays of joint distributions have shape (n, cards ...), one axis per variable.
"""

from collections.abc import Sequence

import numpy as np

from tasks.network.distributions import Floats

_SWEEPS, _TOLERANCE = 100, 1e-9
_TINY = 1e-300


def likelihood_factors(prior: Floats, marginals: Sequence[Floats]) -> list[Floats]:
    """Factors (n, card) by which ``prior`` (n or 1, cards ...) gets the ``marginals`` (n, card), one per variable."""
    factors = [np.ones_like(reported) for reported in marginals]
    for _ in range(_SWEEPS):
        largest = 0.0
        for axis, reported in enumerate(marginals):
            current = marginal(updated(prior, factors), axis)
            largest = max(largest, float(np.abs(current - reported).max(initial=0)))
            factors[axis] *= reported / np.maximum(current, _TINY)
        if largest < _TOLERANCE:
            break
    return factors


def updated(joint: Floats, factors: Sequence[Floats]) -> Floats:
    """``joint`` (n or 1, cards ...) times the factors (n, card), normalised, (n, cards ...)."""
    product = joint
    for axis, factor in enumerate(factors):
        shape = [1] * joint.ndim
        shape[0], shape[axis + 1] = factor.shape
        product = product * factor.reshape(shape)
    product = np.maximum(product, _TINY)  # contradictory evidence leaves a uniform distribution
    return product / product.sum(axis=tuple(range(1, product.ndim)), keepdims=True)


def marginal(joint: Floats, axis: int) -> Floats:
    """The marginal distribution of one variable, (n, card)."""
    others = tuple(number for number in range(1, joint.ndim) if number != axis + 1)
    return joint.sum(axis=others)
