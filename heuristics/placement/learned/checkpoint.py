"""Trained policies in files, to be trained further or to place other graphs."""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boundmark.heuristics.placement.learned.features import FeatureLayout
from boundmark.problems.errors import InvalidInputError, quoted

FORMAT = "boundmark-policy/1"

_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    RecursionError,
    zipfile.BadZipFile,
)


@dataclass(frozen=True)
class Checkpoint:
    """A trained policy.

    Attributes
    ----------
    policy
        Name of the kind of policy, e.g. ``"hsdag"``.
    devices
        Number of devices that it chooses among, in the order of the instance.
    layout
        The columns of the features that it reads.
    parameters
        Arrays by name.
    """

    policy: str
    devices: int
    layout: FeatureLayout
    parameters: Mapping[str, npt.NDArray[np.float32]]

    def save(self, path: Path) -> None:
        """Write the file, a ZIP archive of NumPy arrays.

        Raises
        ------
        InvalidInputError
            If it cannot be written.
        """
        head = {
            "format": FORMAT,
            "policy": self.policy,
            "devices": self.devices,
            "layout": self.layout.to_json(),
        }
        arrays: dict[str, Any] = dict(self.parameters)
        try:
            with path.open("wb") as file:
                np.savez(file, head=np.array(json.dumps(head)), **arrays)
        except OSError as error:
            raise InvalidInputError(f"{path}: the policy cannot be written: {error}.") from error

    def require(self, policy: str, devices: int) -> None:
        """Check the kind of policy and the number of devices.

        Raises
        ------
        InvalidInputError
            If not.
        """
        if self.policy != policy:
            raise InvalidInputError(
                f"the checkpoint holds a policy of {self.policy!r}; expected one of {policy!r}."
            )
        if self.devices != devices:
            raise InvalidInputError(
                f"the checkpoint's policy chooses among {self.devices} devices; the instance has "
                f"{devices}."
            )


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint that `Checkpoint.save` wrote.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, or is not what it should be.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        head = json.loads(str(arrays.pop("head")))
        return _read(head, arrays)
    except _UNREADABLE as error:
        raise InvalidInputError(
            f"{path}: cannot be read as a policy: {error}; expected a file that a learned method "
            "has saved."
        ) from error


def _read(head: Any, arrays: dict[str, Any]) -> Checkpoint:
    if head.get("format") != FORMAT:
        raise InvalidInputError(
            f"format of the checkpoint is {quoted(head.get('format'))}; expected {FORMAT!r}."
        )
    layout = FeatureLayout.from_json(head["layout"])
    return Checkpoint(head["policy"], int(head["devices"]), layout, arrays)
