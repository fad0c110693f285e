"""Support-vector regression by the plug-in slope, looking where second moments say."""

from dataclasses import dataclass

from sparing import checks
from sparing.kernels import state as kernel
from sparing.learners.known_moments import KnownMoments


@dataclass(kw_only=True, eq=False)
class PlugInSVR(KnownMoments):
    r"""DDAERR with the smooth tube loss of AESVR, its slope taken at the estimated inner product.

    :math:`\phi = \frac12[\mathrm{erf}((\tilde\theta-\delta)/\epsilon) + \mathrm{erf}((\tilde\theta+\delta)/\epsilon)]`
    with ``tube`` :math:`\delta`, ``accuracy`` :math:`\epsilon` and :math:`\tilde\theta` the estimate of
    :math:`w \cdot x - y`. Biased where the estimate is noisy, but of bounded variance: split the budget evenly.
    """

    tube: float = 0.1
    accuracy: float = 0.5
    step_size: str | float = "adaptive"
    split: str = "even"

    def _check(self) -> None:
        super()._check()
        checks.positive("tube", self.tube, zero=True)
        checks.positive("accuracy", self.accuracy)
        if self.step_size == "theory":
            raise ValueError("the plug-in slope has no theorem; pass step_size='adaptive', 'adagrad' or a number.")

    def _options_for(self, step_kind, step) -> kernel.Options:
        return super()._options_for(step_kind, step)._replace(tube=float(self.tube), accuracy=float(self.accuracy))
