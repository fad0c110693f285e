"""What the docstrings of the budget estimators share: their options and the attributes of a fitted one."""

OPTIONS = """budget : int, float, "auto" or None
        Attributes to look at per example, from 2 to all; with ``costs``, money per example, never exceeded (by online
        learners in expectation only). "auto" is five attributes, or all if there are fewer. None buys nothing, and
        learns from every value that is there. Not with an online learner.
    learner : {"auto", "pairwise", "factor", "online"}
        "auto", "pairwise" and "factor" keep what they buy and learn from all of it
        (:class:`sparing.learners.AutoLearner`, :class:`sparing.learners.PairwiseMoments`,
        :class:`sparing.learners.FactorModel`; no lasso). "online" is one of the papers' learners, which use each
        example once and forget it; so is "auto" above 1,000,000 attributes (lasso: 20,000), and always for the tube
        loss. ``report_`` says what was chosen and why.
    features : {"auto", "linear", "additive"}
        What is learnt of each column from the same looks. "additive": a curve, where held-out examples say that curves
        predict better than lines. "auto": the same, averaged with boosted trees where that is better still. "linear":
        a line, so that there are weights, ``coef_``. Learners other than "auto", a given ``alpha`` and lasso have lines
        only.
    design : {"auto", "adaptive", "uniform", "moments", "two-phase"}
        Where to look. Learners that keep: "adaptive" (by variance, price, weights and looks so far; the default) or
        "uniform". Online learners: "uniform" is AERR or AELR; "moments", by ``second_moments``, is DDAERR or DDAELR,
        and their default where those are given; "two-phase", by moments that a pilot estimates, is TwoPhasedDDAERR or
        TwoPhasedDDAELR (with ``costs``, DDAERR or DDAELR on the estimates), and their default otherwise.
    costs : array of shape (n_features,), dict or Series, optional
        Price of each attribute, in the order of the columns, or by their names. What costs 0 is free: always read, and
        never counted against the budget. An online learner has no free attributes.
    groups : sequence of length n_features, dict or Series, optional
        Attributes with equal labels are a panel: bought together for what they cost together. An attribute labelled
        None or "", or not named, is in no panel. Not with an online learner.
    total_budget : float, optional
        Money (or attributes) for all examples; when it is spent, no further value is read, free ones aside. Not with
        an online learner.
    pay_for_missing : bool
        Whether an unavailable value (NaN) that was asked for is paid for and counted. An online learner always pays.
    second_moments : array of shape (n_features,), dict or Series, optional
        E[x_i^2] of the attributes in their own units, for looks to follow from the first example on; with
        ``fit_intercept`` about their means, which is their variance. Not with design "uniform" or "two-phase".
    alpha : float or "auto"
        Strength of a penalty alpha/2 ||w||_2^2 (lasso: alpha ||w||_1) on the weights of the attributes in their own
        units. With a number, learner "auto" is "pairwise"; "factor" has no such penalty. Online learners turn it into
        the radius that such a penalty on attributes divided by ``scale`` implies, where ``radius`` is "auto".
    n_examples : int, optional
        How many examples ``partial_fit`` will see in all, where that is known. With it, ``partial_fit`` over all of
        them gives what ``fit`` gives.
    random_state : int, RandomState or None
        The seed of all looks.
    n_jobs : None
        Kept for scikit-learn's conventions: learners that keep use all cores, an online learner is one sequence of
        steps.
    verbose : bool or callable
        Whether ``fit`` shows a bar with the time left, on the error stream if that is a terminal or notebook, when it
        takes over two seconds. A callable is called with each part of the work that is done; parts add up to one.
    radius : float or "auto"
        Online learners only: bound on the norm of the weights of each output, for attributes divided by ``scale``.
        "auto" follows from ``alpha`` if that is given, else from the variances of targets and attributes in the pilot.
    step_size : {"auto", "adaptive", "theory", "adagrad"} or float
        Online learners only: see :class:`sparing.learners.online.OnlineLearner`; "auto" is "adaptive".
    scale : "auto", None or array of shape (n_features,)
        Online learners only: what attributes are divided by. "auto" is the largest distance from the mean in the pilot,
        None is nothing.
    pilot : int, optional
        Online learners only: examples of the pilot, where one is needed. By default a tenth of all, or enough for ten
        looks per attribute, but then at most a quarter.
    fit_intercept : bool
        Center attributes and target on their means. Only an online learner can do without."""

RESULTS = """coef_, intercept_ : array, float
        The model, for attributes in their own units.
        With curves or trees (see ``features``), or categorical columns, there is no ``coef_``: ``effect(column)`` gives
        the curve of a column, or what each of its categories adds.
    n_iter_ : int
        Examples looked at.
    cells_, draws_, spent_ : int, int, float
        Distinct values read, unavailable ones included where they are paid for; draws, of which an online learner makes
        some of the same value; what the values cost, at one each without ``costs``.
    report_ : dict
        What was chosen (``setting``), among what (``candidates``, with estimated risks), and why (``why``); where
        that was by held-out examples also the estimated R² on whole rows and its 90 % interval (``r2``,
        ``r2_interval``), and 1 - R² with its standard error (``risk``, ``risk_error``).
    second_moments_ : array or None
        The moments that the looks follow, of scaled and centred attributes.
    scale_, radius_ : array or None; float, array of shape (n_outputs,) or None
        What attributes were divided by, and the radius (of each output), of an online learner.
    bound_ : float or None
        The theorem's bound on the excess risk, if the scaled attributes lie within [-1, 1]. There is one with
        ``step_size="theory"``, ``fit_intercept=False``, one output and design "uniform" or "moments".
    learner_ : KeepingLearner, OnlineLearner or None
        The learner itself; one that keeps holds its cells in ``learner_.bought``. During the pilot of an online learner
        ``learner_``, ``scale_`` and ``radius_`` are None, and the model is the mean target."""


def documented(cls):
    """Put the shared parameters and attributes into a class's docstring, in place of {options} and {results}."""
    cls.__doc__ = cls.__doc__.replace("{options}", OPTIONS).replace("{results}", RESULTS)
    return cls
