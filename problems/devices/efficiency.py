"""Efficiency of devices by class of operator, fitted on measured times: calibrated costs.

The roofline takes every operator to run at the rates of a data sheet. A curve says instead how long
those of one class take: a time to start, one for each step of a reduction that little runs beside,
and multiples of the roofline's times for arithmetic and for bytes ([ROOFLINE09]). Multiples of one
device's rates serve for another that runs the same libraries, which says so then.
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from boundmark.problems.errors import InvalidInputError

TABLES = "efficiency.toml"

# The curve of operators whose class has none.
OTHER = "other"


@dataclass(frozen=True)
class Curve:
    """Time of the operators of one class.

    Attributes
    ----------
    launch_us
        Microseconds that any of them takes.
    step_ns
        Nanoseconds for each multiply-add that an element of the output is the sum of.
    arithmetic, activations, parameters
        Multiples of the time at peak rate, and of those at full memory bandwidth for inputs and
        outputs, and for parameters.
    row_ns
        Nanoseconds for each row that is normalised.
    """

    launch_us: float = 0.0
    step_ns: float = 0.0
    arithmetic: float = 0.0
    activations: float = 0.0
    parameters: float = 0.0
    row_ns: float = 0.0

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) and value >= 0 for value in self.factors):
            raise InvalidInputError(f"{self} is no curve; expected numbers that are not negative.")

    @property
    def factors(self) -> tuple[float, float, float, float, float, float]:
        """All fields in their order."""
        return (
            self.launch_us, self.step_ns, self.arithmetic, self.activations, self.parameters,
            self.row_ns,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class EfficiencyTable:
    """The curves of one device.

    Attributes
    ----------
    device
        Name of the device that was measured.
    dtypes
        Types of arithmetic that the curves hold for.
    source
        What was measured, and how the curves were fitted.
    curves
        By class of operator, see `calibrated_costs.operator_class`; `OTHER` is among them.
    """

    device: str
    dtypes: tuple[str, ...]
    source: str
    curves: Mapping[str, Curve]

    def __post_init__(self) -> None:
        if OTHER not in self.curves:
            raise InvalidInputError(
                f"the efficiency table of {self.device!r} has no class {OTHER!r}; expected one."
            )

    def curve(self, operator_class: str) -> Curve:
        """Return the curve of a class, that of `OTHER` where it has none."""
        return self.curves.get(operator_class, self.curves[OTHER])


@cache
def efficiency_tables() -> Mapping[str, EfficiencyTable]:
    """Return the tables that come with boundmark, by device."""
    content = files(__package__).joinpath(TABLES).read_text(encoding="utf-8")
    return {
        device: EfficiencyTable(
            device,
            tuple(table["dtypes"]),
            " ".join(table["source"].split()),
            {name: Curve(**curve) for name, curve in table["classes"].items()},
        )
        for device, table in tomllib.loads(content).items()
    }


def efficiency_of(device: str) -> EfficiencyTable | None:
    """Return the table for a device: its own, or that of one that runs the same libraries.

    Examples
    --------
    >>> efficiency_of("nvidia-a100").device
    'nvidia-h100'
    >>> efficiency_of("raspberry-pi-5") is None
    True
    """
    tables = efficiency_tables()
    maker = device.split("-")[0]
    alike = next((one for name, one in tables.items() if name.split("-")[0] == maker), None)
    return tables.get(device, alike)
