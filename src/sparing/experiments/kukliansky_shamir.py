"""Figures 1 to 8 of Kukliansky & Shamir 2015 (7 and 8 are in the appendix of the long version), with their claims."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from sparing import learners
from sparing.compare import ALGORITHMS, Algorithm
from sparing.compare.algorithms import Setting
from sparing.experiments.claims import Claim
from sparing.experiments.comparisons import Alike, GrowsAcross, Lower, Narrows, Printed, Steadier
from sparing.experiments.figures import RATIO, Figure
from sparing.experiments.prefixes import covertype, line_up, mnist, simulated

PAPER = "kukliansky-shamir"
EXPONENTS = {0.0: "exponent 0", -0.5: "exponent −0.5", -1.0: "exponent −1", -2.0: "exponent −2"}
RIDGE = line_up("AERR", "DDAERR", "TwoPhasedDDAERR", "OnlineRidge", "Ridge", "AutoLearner")
LASSO = line_up("AELR", "DDAELR", "TwoPhasedDDAELR", "OnlineLasso", "Lasso", "AutoLasso")
FULL_INFORMATION = (
    "Settings of both sides are chosen by cross-validation at every spend here, and full information gains from that: "
    "the gradient of a whole row has no noise of sampling, so it allows larger steps."
)
TUNING = "The gap is of the size of the error that choosing radius and step makes; more repetitions do not remove that."


def _adagrad(name: str, learner: type, **options: Any) -> Algorithm:
    """The algorithm with AdaGrad's steps, one step size per attribute, and its own projection (appendix A)."""
    plain = ALGORITHMS[name]
    make = partial(_with_adagrad, learner, plain.whole_rows, options)
    return replace(plain, label=f"{plain.label}, AdaGrad", make=make, strengths=(0.5, 2.0), radii=(0.5, 1.0, 2.0, 4.0))


def _with_adagrad(learner: type, whole_rows: bool, options: Mapping[str, Any], setting: Setting):
    shared = setting.whole if whole_rows else setting.few
    told = {"second_moments": setting.second_moments} if learner is learners.DDAERR else {}
    return learner(setting.n_attributes, step_size="adagrad", projection="own", **shared, **options, **told)


ADAGRAD = line_up("AERR", "DDAERR", "TwoPhasedDDAERR", "OnlineRidge") | {
    "AERR-AdaGrad": _adagrad("AERR", learners.AERR),
    "DDAERR-AdaGrad": _adagrad("DDAERR", learners.DDAERR, inner="improved"),
    "TwoPhasedDDAERR-AdaGrad": _adagrad("TwoPhasedDDAERR", learners.TwoPhasedDDAERR, inner="improved"),
    "OnlineRidge-AdaGrad": _adagrad("OnlineRidge", learners.OnlineRidge),
}


ADAGRAD_STYLES = {
    name: {**ALGORITHMS[plain].style, "label": ADAGRAD[name].label, "linestyle": ":", "markerfacecolor": "white"}
    for name in ADAGRAD
    if (plain := name.removesuffix("-AdaGrad")) != name
}


def _printed(values: tuple[float, ...], within: tuple[float, ...]) -> Claim:
    words = f"The improvement ratio is {', '.join(f'{value:g}' for value in values)}."
    return Claim(words, Printed(RATIO, values, within))


def _simulated_claims(uniform: str, informed: str, between: str) -> tuple[Claim, ...]:
    few = EXPONENTS[-1.0], EXPONENTS[-2.0]
    return (
        Claim(
            f"With equal second moments {informed} and {uniform} are equivalent.",
            Alike(informed, uniform, within=0.05, panels=(EXPONENTS[0.0],)),
            "They differ in how the inner product is drawn (by |w| or by w²) and in what was chosen. " + TUNING,
        ),
        Claim(
            f"Where the improvement ratio is small, {informed} is clearly better than {uniform}.",
            Lower(informed, uniform, panels=few),
            "At the smallest spends neither has learnt anything that could differ.",
        ),
        Claim(
            f"The smaller the improvement ratio, the larger the gain of {informed} over {uniform}.",
            GrowsAcross(informed, uniform),
            "Between neighbouring ratios the gains differ by less than their errors, or the data differ in more than "
            "their ratio: the steeper the attributes fall, the fewer of them matter at all.",
        ),
        Claim(
            f"{between} gains over {uniform} too, without being told the moments.",
            Lower(between, uniform, part="large", panels=few),
            "Moments estimated on a tenth of the rows are rough, and a step that did well in cross-validation may fail "
            "in a run: one is enough to spoil a mean.",
        ),
    )  # fmt: skip


def _real_claims(uniform: str, informed: str, between: str, ours: str) -> tuple[Claim, ...]:
    return (
        Claim(f"{informed} is better than {uniform} at every spend.", Lower(informed, uniform), TUNING),
        Claim(
            f"{between} lies between {uniform} and {informed}.",
            (Lower(informed, between), Lower(between, uniform)),
            "At some spends it is statistically indistinguishable from one of the two, or better than both: steps and "
            "radius of either are chosen by cross-validation, whose error is as large as the gap.",
        ),
        Claim(
            f"{between} comes closer to {informed} as the spend grows.",
            Narrows(between, informed),
            "The gap shrinks by less than its own noise at this number of repetitions.",
        ),
        Claim(
            f"Ours: {ours}, which keeps what it buys, is better than {informed}, which does not.",
            Lower(ours, informed),
            "It runs a few times only, so its interval is wide; and a few hundred values are little to keep.",
        ),
    )


def _informed_like_online(informed: str, online: str, part: str, words: str) -> Claim:
    return Claim(words, Alike(informed, online, within=0.1, part=part, or_better=True), FULL_INFORMATION)


def _adagrad_claim(name: str, helps: bool, explanation: str) -> Claim:
    pair = (f"{name}-AdaGrad", name) if helps else (name, f"{name}-AdaGrad")
    return Claim(f"AdaGrad's steps make {name} {'better' if helps else 'worse'}.", Lower(*pair), explanation)


EQUAL_STEPS = "Both kinds of steps are tuned here, which brings them within the error of tuning of each other."

FIGURES = (
    Figure(
        PAPER,
        1,
        "simulated data, ridge: the smaller the improvement ratio, the more second moments help",
        {title: simulated(exponent, "ridge", RIDGE) for exponent, title in EXPONENTS.items()},
        (
            _printed((1.0, 0.91, 0.55, 0.05), (0.005, 0.005, 0.005, 0.0075)),
            *_simulated_claims("AERR", "DDAERR", "TwoPhasedDDAERR"),
        ),
        minutes={"quick": 2.7, "full": 6},
    ),
    Figure(
        PAPER,
        2,
        "simulated data, lasso: the same with the lasso's improvement ratio",
        {title: simulated(exponent, "lasso", LASSO) for exponent, title in EXPONENTS.items()},
        (
            _printed((1.0, 0.086, 0.014, 0.0033), (0.005, 0.001, 0.0005, 0.0001)),
            *_simulated_claims("AELR", "DDAELR", "TwoPhasedDDAELR"),
        ),
        minutes={"quick": 2.6, "full": 6},
    ),
    Figure(
        PAPER,
        3,
        "MNIST 3 against 5, ridge, 57 looks: DDAERR beside full information",
        {"MNIST 3 against 5": mnist(57, RIDGE)},
        (
            _printed((0.45,), (0.01,)),
            *_real_claims("AERR", "DDAERR", "TwoPhasedDDAERR", "AutoLearner"),
            Claim(
                "At small spends DDAERR is better than online ridge regression.",
                Lower("DDAERR", "OnlineRidge", part="small"),
                FULL_INFORMATION,
            ),
            _informed_like_online("DDAERR", "OnlineRidge", "all", "Elsewhere it is similar: at most 10 % worse."),
            Claim(
                "Offline ridge regression is the best of the paper's five.",
                tuple(Lower("Ridge", rival) for rival in ("AERR", "DDAERR", "TwoPhasedDDAERR", "OnlineRidge")),
                "At the smaller spends it has a dozen to a hundred whole rows to learn 784 weights from.",
            ),
        ),
        minutes={"quick": 1.4, "full": 5},
    ),
    Figure(
        PAPER,
        4,
        "MNIST 3 against 5, lasso, 5 looks",
        {"MNIST 3 against 5": mnist(5, LASSO)},
        (
            _printed((0.2,), (0.01,)),
            *_real_claims("AELR", "DDAELR", "TwoPhasedDDAELR", "AutoLasso"),
            _informed_like_online("DDAELR", "OnlineLasso", "all", "DDAELR is comparable with online lasso, or better."),
            Claim(
                "DDAELR varies less from run to run than AELR and online lasso.",
                (Steadier("DDAELR", "AELR"), Steadier("DDAELR", "OnlineLasso")),
                "At the smallest spends AELR is still near the zero predictor, and that does not vary. At the larger "
                "ones DDAELR varies less.",
            ),
            Claim(
                "At small spends TwoPhasedDDAELR is like AELR.",
                Alike("TwoPhasedDDAELR", "AELR", within=0.1, part="small"),
                "The spread of either is larger than the 10 % allowed, so this many runs cannot tell.",
            ),
        ),
        minutes={"quick": 0.9, "full": 4},
    ),
    Figure(
        PAPER,
        5,
        "Covertype, ridge, 5 looks: here full information wins",
        {"Covertype, class 2 against the rest": covertype(RIDGE)},
        (
            _printed((0.49,), (0.01,)),
            *_real_claims("AERR", "DDAERR", "TwoPhasedDDAERR", "AutoLearner"),
            _informed_like_online("DDAERR", "OnlineRidge", "small", "At small spends DDAERR is like online ridge."),
            Claim(
                "At large spends full information is better than DDAERR.",
                (Lower("OnlineRidge", "DDAERR", part="large"), Lower("Ridge", "DDAERR", part="large")),
                "Online ridge is. Offline ridge is better in the median run, but in a few of 100 runs its test loss is "
                "twice the zero predictor's or more, with the penalty that generalised cross-validation chooses.",
            ),
        ),
        minutes={"quick": 0.8, "full": 2},
    ),
    Figure(
        PAPER,
        6,
        "Covertype, lasso, 5 looks",
        {"Covertype, class 2 against the rest": covertype(LASSO)},
        (
            _printed((0.08,), (0.005,)),
            *_real_claims("AELR", "DDAELR", "TwoPhasedDDAELR", "AutoLasso"),
            _informed_like_online("DDAELR", "OnlineLasso", "small", "At small spends DDAELR is like online lasso."),
            Claim(
                "At small spends DDAELR varies less than online lasso.",
                Steadier("DDAELR", "OnlineLasso", part="small"),
                "From so few whole rows online lasso hardly leaves the zero predictor, which does not vary.",
            ),
            Claim(
                "As the spend grows, online lasso draws ahead of DDAELR.", Lower("OnlineLasso", "DDAELR", part="large")
            ),
        ),
        minutes={"quick": 0.9, "full": 2},
    ),
    Figure(
        PAPER,
        7,
        "AdaGrad's steps on simulated data with exponent −2: they help",
        {EXPONENTS[-2.0]: simulated(-2.0, "ridge", ADAGRAD)},
        tuple(_adagrad_claim(name, True, EQUAL_STEPS) for name in list(ADAGRAD)[:4]),
        minutes={"quick": 0.7, "full": 2},
        styles=ADAGRAD_STYLES,
        lender=f"{PAPER}-figure-1",
    ),
    Figure(
        PAPER,
        8,
        "AdaGrad's steps on MNIST 3 against 5: they hurt learners of few attributes",
        {"MNIST 3 against 5": mnist(57, ADAGRAD)},
        (
            *(_adagrad_claim(name, False, EQUAL_STEPS) for name in list(ADAGRAD)[:3]),
            _adagrad_claim("OnlineRidge", True, EQUAL_STEPS),
        ),
        minutes={"quick": 2.2, "full": 5},
        styles=ADAGRAD_STYLES,
        lender=f"{PAPER}-figure-3",
    ),
)
