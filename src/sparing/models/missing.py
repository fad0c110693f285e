"""Means of attributes with missing values that no design chose, given the values that were seen."""

from dataclasses import replace

import numpy as np

from sparing.cells import Cells
from sparing.models.gaussian import FittedModel, Gaussian
from sparing.models.risk import from_seen
from sparing.models.summary import Summary, summarize

ITERATIONS = 10  # EM iterations for the means; each multiplies their error by the fraction that is missing
WIDEST = 1000  # attributes, or functions of them, up to which the joint covariance is formed
LEAST_NOISE = 1e-3  # smallest residual variance over that of the target, so that the joint covariance has an inverse


def with_conditional_means(model: FittedModel, cells: Cells) -> FittedModel:
    r"""The model with means and intercept that are valid if values are missing at random given what is seen.

    Averages over available values are biased if missingness depends on other attributes or on the target. Maximum-
    likelihood means are averages of :math:`E[x | x_S, y]`, computed by EM under the model's joint covariance.
    """
    basis = model.basis
    seen = cells if basis is None else basis.expand(cells)
    summary = summarize(cells) if basis is None else basis.summary(seen)
    d, outputs = seen.n_attributes, seen.n_outputs
    if d > WIDEST or not len(seen):
        return model
    joint, both = _joint(model), _with_targets(seen)
    known = np.concatenate([summary.known, np.ones(outputs, dtype=bool)])
    means = np.concatenate([model.attributes.means, summary.target_means])
    counts = np.concatenate([summary.counts, np.full(outputs, seen.n_examples)])
    spreads = np.sqrt(np.maximum(joint.variances, np.finfo(float).tiny))
    ones = np.ones(d + outputs)
    for _ in range(ITERATIONS):
        about = Summary(counts, counts, means, spreads, spreads**2, 0.0 * ones, ones)
        means = means + np.where(
            known, from_seen(both, about, joint, np.eye(d + outputs)).predictions.mean(axis=0), 0.0
        )
    shift = means[:d] - model.attributes.means
    attributes = replace(model.attributes, means=means[:d])
    return replace(model, attributes=attributes, intercept=model.intercept - shift @ model.weights)


def _joint(model: FittedModel) -> Gaussian:
    """The joint Gaussian of attributes and targets, from the model's covariance, weights and residual variances."""
    covariance = model.attributes.covariance
    with_targets = model.attributes.times(model.weights)
    targets = model.weights.T @ with_targets
    noise = np.maximum(model.residual_variance, LEAST_NOISE * np.diagonal(targets)) + np.finfo(float).tiny
    joint = np.block([[covariance, with_targets], [with_targets.T, targets + np.diag(noise)]])
    return Gaussian.of_covariance(np.zeros(len(joint)), joint)


def _with_targets(cells: Cells) -> Cells:
    """Cells in which the targets are further attributes, seen for every example."""
    both, outputs = Cells(cells.n_attributes + cells.n_outputs), cells.n_outputs
    sizes = np.diff(cells.starts)
    order = np.argsort(
        np.concatenate([cells.examples(), np.repeat(np.arange(cells.n_examples), outputs)]), kind="stable"
    )
    attributes = np.concatenate([cells.attributes, np.tile(cells.n_attributes + np.arange(outputs), cells.n_examples)])
    values = np.concatenate([cells.values, cells.targets.ravel()])
    both.extend(sizes + outputs, attributes[order], values[order], np.zeros(cells.n_examples))
    return both
