"""Four medical data sets whose attributes are tests with known prices."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparing import checks
from sparing.datasets.fields import dataset, float_type, signs
from sparing.datasets.folder import required_file


@dataclass(frozen=True)
class Medical:
    """How to read a medical data set: its class column, the labels that become +1, and special attributes."""

    about: str
    label: str
    positive: tuple[int, ...]
    zero_is_missing: tuple[str, ...] = ()
    computed_from: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


MEDICAL = {
    "heart": Medical(
        about="Heart disease, Cleveland (UCI): +1 is disease of any degree (num > 0).",
        label="num",
        positive=(1, 2, 3, 4),
    ),
    "pima": Medical(
        about="Pima Indians diabetes (UCI): +1 is diabetes. Missing values are 0 in the file.",
        label="class",
        positive=(1,),
        zero_is_missing=("plas", "pres", "skin", "insu", "mass"),
    ),
    "hepatitis": Medical(
        about="Hepatitis (UCI): +1 is death (class 1).",
        label="class",
        positive=(1,),
    ),
    "thyroid": Medical(
        about="Thyroid, the 'ann' version (UCI): +1 is any disease (class 1 or 2, not 3). FTI is computed "
        "from TT4 and T4U and costs what they cost together.",
        label="class",
        positive=(1, 2),
        computed_from={"FTI": ("TT4", "T4U")},
    ),
}


def load_medical(name, *, dtype=np.float64, return_X_y=False) -> Any:
    """Patients, medical tests, and what each test costs in Canadian dollars (Turney 1995).

    Parameters
    ----------
    name : {"heart", "pima", "hepatitis", "thyroid"}
        The target is +1 for heart disease, diabetes, death, or any thyroid disease.
    dtype : float32 or float64, default=float64
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    Bunch
        ``data`` has NaN for missing values; ``labels`` are the classes of the file. Every attribute has a price in
        ``costs``. Heart and pima have ``groups``, pima has ``discount_costs``, thyroid has ``in_train``.
        ``computed_from`` maps an attribute that is computed, not bought, to the attributes that it is computed from:
        alone it costs as much as these together, and nothing once they are bought.
    """
    spec = MEDICAL[checks.one_of("name", name, MEDICAL)]
    dtype = float_type(dtype)
    patients, prices = _table(f"{name}.csv"), _prices(name)
    names = [column for column in patients if column not in (spec.label, "split")]
    data = np.column_stack([_numbers(patients[column]) for column in names])
    for column in map(names.index, spec.zero_is_missing):
        data[data[:, column] == 0, column] = np.nan
    labels = _numbers(patients[spec.label]).astype(np.int64)
    return dataset(
        data=data.astype(dtype),
        target=signs(np.isin(labels, spec.positive)),
        feature_names=names,
        DESCR=f"{spec.about} Costs in Canadian dollars (Turney 1995).",
        labels=labels,
        in_train=np.array(patients["split"]) == "train" if "split" in patients else None,
        **_costs(names, prices, spec.computed_from),
        computed_from=dict(spec.computed_from),
        return_X_y=return_X_y,
    )


def _table(name: str) -> dict[str, list[str]]:
    """The columns of a CSV file, as text."""
    with required_file(name).open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return {column: list(cells) for column, cells in zip(header, zip(*rows, strict=True), strict=True)}


def _numbers(cells: list[str]) -> np.ndarray:
    return np.array([float(cell) if cell else np.nan for cell in cells])


def _prices(name: str) -> dict[str, tuple[float, float, str]]:
    """Cost, discount cost and group of each attribute; NaN or "" if there is none."""
    table = _table("costs.csv")
    rows = zip(_numbers(table["cost_cad"]), _numbers(table["discount_cost_cad"]), table["group"], strict=True)
    owners = zip(table["dataset"], table["attribute"], strict=True)
    return {attribute: row for (owner, attribute), row in zip(owners, rows, strict=True) if owner == name}


def _costs(names, prices, computed_from) -> dict[str, np.ndarray | None]:
    """The fields costs, discount_costs (the full price if there is no discount) and groups."""
    costs = np.array(
        [sum(prices[part][0] for part in computed_from.get(attribute, (attribute,))) for attribute in names]
    )
    discounts = np.array([prices[attribute][1] for attribute in names])
    groups = np.array([prices[attribute][2] for attribute in names])
    return {
        "costs": costs,
        "discount_costs": None if np.isnan(discounts).all() else np.where(np.isnan(discounts), costs, discounts),
        "groups": groups if groups.astype(bool).any() else None,
    }
