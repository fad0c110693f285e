"""What the docstrings of all budget estimators share: parameters and fitted attributes."""

OPTIONS = """budget : int, float, "auto" or None
        Attributes to look at per example, from 2 to all; with ``costs``, money per example, which is never exceeded (by
        online learners in expectation only). "auto" is five attributes, or all if there are fewer. None buys nothing
        and learns from every available value; it is not for online learners.
    learner : {"auto", "pairwise", "factor", "online"}
        "auto", "pairwise" and "factor" keep what they buy and learn from all of it
        (:class:`sparing.learners.AutoLearner`, :class:`sparing.learners.PairwiseMoments`,
        :class:`sparing.learners.FactorModel`; no lasso). "online" is one of the papers' learners, which use each
        example once and forget it. "auto" is "online" above 1,000,000 attributes (lasso: 20,000), and always for the
        tube loss. ``report_`` says which model was chosen, and why.
    features : {"auto", "linear", "additive"}
        What is learnt from the looks at a column. "additive": a curve, if curves predict held-out examples better than
        lines. "auto": the same, averaged with boosted trees if that is better still. "linear": a line, so that there
        are weights, ``coef_``. With another learner than "auto", with a given ``alpha`` and for lasso, there are only
        lines.
    design : {"auto", "adaptive", "uniform", "moments", "two-phase"}
        Where to look. Keeping learners: "adaptive" (by variance, price, weights and looks so far; the default) or
        "uniform". Online learners: "uniform" is AERR or AELR. "moments" is DDAERR or DDAELR, the default if
        ``second_moments`` are given. "two-phase" is TwoPhasedDDAERR or TwoPhasedDDAELR, which estimate the moments in a
        pilot, the default otherwise (with ``costs``, DDAERR or DDAELR on the estimates).
    costs : array of shape (n_features,), dict or Series, optional
        Price of each attribute, in column order or by name. An attribute of price 0 is free: always read, and never
        counted against the budget. Online learners have no free attributes.
    groups : sequence of length n_features, dict or Series, optional
        Attributes with equal labels are a panel: bought together, for the sum of their prices. An attribute labelled
        None or "", or not named, is in no panel. Online learners have no panels.
    total_budget : float, optional
        Money (or attributes) for all examples; when it is spent, only free values are read. Not for online learners.
    pay_for_missing : bool
        Whether an unavailable value (NaN) that was asked for is paid for and counted. Online learners always pay.
    second_moments : array of shape (n_features,), dict or Series, optional
        E[x_i^2] of the attributes in their own units, which the design uses from the first example on; with
        ``fit_intercept``, variances. Not with design "uniform" or "two-phase".
    alpha : float or "auto"
        Strength of a penalty alpha/2 ||w||_2^2 (lasso: alpha ||w||_1) on the weights of the attributes in their own
        units. With a number, learner "auto" is "pairwise"; "factor" has no such penalty. Online learners turn it into
        the radius that such a penalty on attributes divided by ``scale`` implies, where ``radius`` is "auto".
    n_examples : int, optional
        How many examples ``partial_fit`` will see in all, if that is known. With it, ``partial_fit`` over all of them
        has the same result as ``fit``.
    random_state : int, RandomState or None
        The seed of all looks.
    n_jobs : None
        Exists for scikit-learn's conventions only: keeping learners use all cores, online learners are sequential.
    verbose : bool or callable
        Whether ``fit`` shows a bar with the time left if it takes over two seconds, on the error stream if that is a
        terminal or notebook. A callable is called with fractions of the work, which add up to one.
    radius : float or "auto"
        Online learners only: bound on the norm of the weights of each output, for attributes divided by ``scale``.
        "auto" follows from ``alpha`` if that is given, else from the variances of targets and attributes in the pilot.
    step_size : {"auto", "adaptive", "theory", "adagrad"} or float
        Online learners only: see :class:`sparing.learners.online.OnlineLearner`; "auto" is "adaptive".
    scale : "auto", None or array of shape (n_features,)
        Online learners only: what attributes are divided by. "auto" is the largest distance from the mean in the pilot,
        None is nothing.
    pilot : int, optional
        Online learners only: examples of the pilot, if one is needed. By default a tenth of all, or enough for ten
        looks per attribute, but then at most a quarter.
    fit_intercept : bool
        Whether to fit an intercept. Only online learners can do without."""

RESULTS = """coef_, intercept_ : array, float
        The model, in the attributes' own units. With curves or trees (see ``features``), or categorical columns, there
        is no ``coef_``: ``effect(column)`` gives the curve of a column, or what each of its categories adds.
    n_iter_ : int
        Examples looked at.
    cells_, draws_, spent_ : int, int, float
        Distinct values read, including unavailable ones that are paid for; draws, in which an online learner may repeat
        a value; the cost of the values, one each without ``costs``.
    report_ : dict
        Which model was chosen (``setting``), among which candidates with which estimated risks (``candidates``), and
        why (``why``). If held-out examples decided, also the estimated R² on whole rows and its 90 % interval (``r2``,
        ``r2_interval``), and 1 - R² with its standard error (``risk``, ``risk_error``).
    second_moments_ : array or None
        The second moments of scaled and centred attributes that the design uses.
    scale_, radius_ : array or None; float, array of shape (n_outputs,) or None
        Online learners: what attributes were divided by, and the radius (of each output).
    bound_ : float or None
        The theorem's bound on the excess risk, if the scaled attributes lie within [-1, 1]. There is one with
        ``step_size="theory"``, ``fit_intercept=False``, one output and design "uniform" or "moments".
    learner_ : KeepingLearner, OnlineLearner or None
        The learner itself; a keeping learner has its cells in ``learner_.bought``. During the pilot of an online
        learner ``learner_``, ``scale_`` and ``radius_`` are None, and the model is the mean target."""


def documented(cls):
    """Put the shared parameters and attributes into a class's docstring, in place of {options} and {results}."""
    cls.__doc__ = cls.__doc__.replace("{options}", OPTIONS).replace("{results}", RESULTS)
    return cls
