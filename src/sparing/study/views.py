"""What users see of asks and examples."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparing.study import money
from sparing.study.settings import Settings

if TYPE_CHECKING:
    from sparing.study.rows import AskRow, ExampleRow


@dataclass(frozen=True)
class Ask:
    """What to buy of one example, and its price. ``key`` is the idempotency key for the seller."""

    key: str
    example: str
    holder: str
    attributes: tuple[int, ...]
    names: tuple[str, ...]
    price: str
    state: str
    told: tuple[str, ...]  # the names that were told already

    @classmethod
    def of(cls, settings: Settings, uid: str, row: "AskRow", example: "ExampleRow") -> "Ask":
        """The ask of this row."""
        from sparing.study.values import whole_numbers

        attributes = whole_numbers(row.attributes)
        names = tuple(settings.attributes[attribute] for attribute in attributes)
        told = tuple(name for name, code in zip(names, row.told, strict=True) if code)
        price = money.text(row.price, settings.decimals)
        return cls(f"{uid}-{row.number}", example.name, row.holder, attributes, names, price, row.state, told)


@dataclass(frozen=True)
class Example:
    """What is known of one example; ``event`` is the last one that changed it, which :meth:`Study.correct` needs."""

    name: str
    number: int
    plan: int
    state: str
    values: dict[str, float | str | None]  # a number, a category, "unavailable", "not bought"; None if awaited
    y: Any
    event: int

    @classmethod
    def of(cls, settings: Settings, row: "ExampleRow") -> "Example":
        """The example of this row."""
        from sparing.study.values import known_values

        known = {settings.attributes[attribute]: value for attribute, value in known_values(settings, row).items()}
        return cls(row.name, row.number, row.plan, row.state, known, settings.label(row.y), row.event)
