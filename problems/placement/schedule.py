"""A solution of `placement`: where and when each operator runs, and when tensors are moved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.stored_fields import is_integer_list, is_integer_table

# What comes later is no start of anything that a reasonable schedule does.
LATEST = 2**60


@dataclass(frozen=True, eq=False)
class PlacementSchedule:
    """Devices and start times.

    Attributes
    ----------
    devices
        The device of each operator, shape (n,).
    starts
        When each operator starts, in ticks, shape (n,).
    transfers
        A row (tensor, receiver, start) per transfer, sorted by the first two, shape (q, 3). The
        receiver is a device where transfers are per tensor, and a consumer where they are per edge.
    """

    devices: IntArray
    starts: IntArray
    transfers: IntArray

    def __post_init__(self) -> None:
        for field in ("devices", "starts", "transfers"):
            object.__setattr__(self, field, frozen(getattr(self, field), field))
        if not self.transfers.size:
            object.__setattr__(self, "transfers", frozen(self.transfers.reshape(0, 3)))
        shapes = self.devices.shape, self.starts.shape, self.transfers.shape
        if self.devices.ndim != 1 or shapes[1] != shapes[0] or shapes[2] != (shapes[2][0], 3):
            raise InvalidInputError(
                f"devices, starts and transfers of the schedule have the shapes {shapes}; "
                "expected (n,), (n,) and (q, 3)."
            )

    def to_json(self) -> dict[str, Any]:
        """Return ``{"devices": [...], "starts": [...], "transfers": [[...], ...]}``."""
        return {
            "devices": self.devices.tolist(),
            "starts": self.starts.tolist(),
            "transfers": self.transfers.tolist(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "PlacementSchedule":
        """Read what `to_json` wrote.

        Raises
        ------
        InvalidInputError
            If a field is missing or malformed.
        """
        devices, starts, transfers = (
            value.get(field) for field in ("devices", "starts", "transfers")
        )
        for field, column in (("devices", devices), ("starts", starts)):
            if not is_integer_list(column) or any(abs(entry) > LATEST for entry in column):
                raise InvalidInputError(
                    f"{field} of the solution is not a list of integers up to 2^60."
                )
        if not is_integer_table(transfers) or any(
            len(row) != 3 or max(map(abs, row)) > LATEST for row in transfers
        ):
            raise InvalidInputError(
                "transfers of the solution is not a list of rows (tensor, receiver, start)."
            )
        return cls(
            frozen(devices, "devices"), frozen(starts, "starts"), frozen(transfers, "transfers")
        )
