"""Real data of the papers: MNIST, Covertype and RCV1; and small digits that ship with scikit-learn."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sparing import checks
from sparing.datasets.fields import dataset, float_type, signs
from sparing.datasets.folder import data_file, fetching

COVERTYPE_NAMES = [
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
    *(f"Wilderness_Area_{i}" for i in range(4)),
    *(f"Soil_Type_{i}" for i in range(40)),
]

DIGIT_NAMES = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]


def load_mnist_pair(negative=3, positive=5, *, subset="train", dtype=np.float64, return_X_y=False) -> Any:
    """Two handwritten digits of MNIST: 28 by 28 pixels from 0 to 255, in the original order.

    Parameters
    ----------
    negative, positive : int, default=3 and 5
        The digits that become -1 and +1.
    subset : {"train", "test", "all"}, default="train"
        "all" is the training set followed by the test set; ``in_train`` says which is which.
    dtype : float32 or float64, default=float64
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    Bunch
        ``labels`` are the digits.
    """
    checks.one_of("subset", subset, ("train", "test", "all"))
    _check_digits(negative, positive)
    dtype = float_type(dtype)
    pixels, digits, in_train = _mnist()
    rows = (digits == negative) | (digits == positive)
    if subset != "all":
        rows &= in_train == (subset == "train")
    return dataset(
        data=pixels[rows].astype(dtype),
        target=signs(digits[rows] == positive),
        feature_names=[f"pixel{i}" for i in range(1, pixels.shape[1] + 1)],
        DESCR=f"MNIST, digit {negative} (-1) against {positive} (+1), {subset} (LeCun, Cortes & Burges).",
        labels=digits[rows],
        in_train=in_train[rows],
        return_X_y=return_X_y,
    )


def load_digits_pair(negative=3, positive=5, *, dtype=np.float64, return_X_y=False) -> Any:
    """Two handwritten digits of 8 by 8 pixels from 0 to 16, which ship with scikit-learn.

    Parameters
    ----------
    negative, positive : int, default=3 and 5
        The digits that become -1 and +1.
    dtype : float32 or float64, default=float64
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Examples
    --------
    >>> digits = load_digits_pair(3, 5)
    >>> digits.data.shape, digits.target[:4]
    ((365, 64), array([-1,  1, -1,  1]))
    """
    _check_digits(negative, positive)
    dtype = float_type(dtype)
    pixels, digits = _digits()
    rows = np.isin(digits, (negative, positive))
    return dataset(
        data=pixels[rows].astype(dtype),
        target=signs(digits[rows] == positive),
        feature_names=list(DIGIT_NAMES),
        DESCR=f"Digit {negative} (-1) against {positive} (+1), 8 by 8 pixels (UCI optical digits, test set).",
        labels=digits[rows],
        return_X_y=return_X_y,
    )


def load_digits_parity(*, dtype=np.float64, return_X_y=False) -> Any:
    """The 1,797 handwritten digits that ship with scikit-learn, 8 by 8 pixels: +1 for odd digits, -1 for even ones.

    Examples
    --------
    >>> digits = load_digits_parity()
    >>> digits.data.shape, digits.labels[:4], digits.target[:4]
    ((1797, 64), array([0, 1, 2, 3]), array([-1,  1, -1,  1]))
    """
    pixels, digits = _digits()
    return dataset(
        data=pixels.astype(float_type(dtype)),
        target=signs(digits % 2 == 1),
        feature_names=list(DIGIT_NAMES),
        DESCR="Odd (+1) against even (-1) digits, 8 by 8 pixels (UCI optical digits, test set).",
        labels=digits,
        return_X_y=return_X_y,
    )


def load_covertype(positive=2, *, dtype=np.float64, return_X_y=False) -> Any:
    """Forest cover of 581,012 patches of land: ten measurements, 44 indicators, in UCI's order and units.

    Parameters
    ----------
    positive : int from 1 to 7, or None, default=2
        The class that becomes +1, against the rest as -1; None keeps the classes as targets.
    dtype : float32 or float64, default=float64
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    Bunch
        ``labels`` are the classes, 1 to 7.
    """
    if positive is not None and checks.whole("positive", positive) > 7:
        raise ValueError(f"positive must be a class from 1 to 7, or None for all classes; got {positive!r}.")
    dtype = float_type(dtype)
    data, labels = _covertype()
    meaning = "the seven classes" if positive is None else f"class {positive} (+1) against the rest (-1)"
    return dataset(
        data=data.astype(dtype, order="C"),
        target=labels if positive is None else signs(labels == positive),
        feature_names=list(COVERTYPE_NAMES),
        DESCR=f"Covertype, {meaning} (UCI; Blackard & Dean).",
        labels=labels,
        return_X_y=return_X_y,
    )


def load_rcv1(*, dtype=np.float64, return_X_y=False) -> Any:
    """Newswire stories as 47,236 term weights, about 75 of them not zero; each story has L2 norm 1.

    Corporate and economic news (CCAT, ECAT) become +1, government and markets (GCAT, MCAT) -1; stories on
    both sides or on neither are dropped.

    Parameters
    ----------
    dtype : float32 or float64, default=float64
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    Bunch
        ``data`` is a CSR matrix.
    """
    dtype = float_type(dtype)
    data, sides, in_train = _rcv1()
    rows = sides != 0
    return dataset(
        data=data[rows].astype(dtype),
        target=signs(sides[rows] > 0),
        feature_names=[f"term{i}" for i in range(1, data.shape[1] + 1)],
        DESCR="RCV1-v2, CCAT and ECAT (+1) against GCAT and MCAT (-1), cosine-normalised log TF-IDF "
        "(Lewis, Yang, Rose & Li 2004).",
        in_train=in_train[rows],
        return_X_y=return_X_y,
    )


def _check_digits(negative, positive) -> None:
    for name, digit in (("negative", negative), ("positive", positive)):
        if checks.whole(name, digit, at_least=0) > 9:
            raise ValueError(f"{name} must be a digit from 0 to 9; got {digit!r}.")
    if negative == positive:
        raise ValueError(f"negative and positive must be two different digits; both are {negative!r}.")


def _digits():
    """Pixels and digits, read from scikit-learn's folder, because importing scikit-learn is slow."""
    folder = Path(find_spec("sklearn").origin).parent  # type: ignore[union-attr, arg-type]  # always installed
    table = np.loadtxt(folder / "datasets" / "data" / "digits.csv.gz", delimiter=",")
    return table[:, :-1], table[:, -1].astype(np.int64)


def _mnist():
    """Pixels, digits, and whether a row is in the training set."""
    if path := data_file("mnist.npz"):
        with np.load(path) as file:
            pixels = np.concatenate([file["X_train"], file["X_test"]])
            digits = np.concatenate([file["y_train"], file["y_test"]])
            n_train = len(file["y_train"])
    else:  # OpenML keeps the original order; its other parser needs pandas
        from sklearn.datasets import fetch_openml

        with fetching("MNIST", "mnist.npz"):
            found = fetch_openml("mnist_784", version=1, as_frame=False, parser="liac-arff")
        pixels, digits, n_train = found.data, found.target, 60_000
    return pixels, digits.astype(np.int64), np.arange(len(digits)) < n_train


def _covertype():
    """Attributes and classes from 1 to 7."""
    if path := data_file("covertype.npz"):
        with np.load(path) as file:
            return file["X"], file["y"].astype(np.int64)
    from sklearn.datasets import fetch_covtype

    with fetching("Covertype", "covertype.npz"):
        found = fetch_covtype()
    return found.data, found.target.astype(np.int64)


def _rcv1():
    """Stories, their classes (-1, +1, or 0 for both or neither), and whether a row is in the training set."""
    if path := data_file("rcv1.npz"):
        with np.load(path) as file:
            return sparse.load_npz(path), file["y"], file["part"] == 0
    from sklearn.datasets import fetch_rcv1

    with fetching("RCV1", "rcv1.npz"):
        found = fetch_rcv1()

    def about(*topics):
        columns = np.flatnonzero(np.isin(found.target_names, topics))
        return np.asarray(found.target[:, columns].sum(axis=1)).ravel() > 0

    sides = about("CCAT", "ECAT").astype(np.int8) - about("GCAT", "MCAT").astype(np.int8)
    return found.data, sides, np.arange(found.data.shape[0]) < 23_149
