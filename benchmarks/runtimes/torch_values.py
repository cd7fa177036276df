"""Draw random weights and inputs of PyTorch programs: finite, of ordinary size, and in range."""

from collections.abc import Iterable
from math import prod
from typing import Any

from boundmark.benchmarks.runtimes.random_inputs import SEED

# Arguments of operators that choose rows of a tensor: that tensor, and the indices.
_LOOKUPS = {"embedding": ("weight", "indices"), "index": ("self", "indices")} | dict.fromkeys(
    ("index_select", "gather"), ("self", "index")
)

# Rows that integers may choose where nothing says how many there are; most things have two.
ROWS = 2


class RandomValues:
    """Draws tensors, the same ones each time.

    Weights of two dimensions and more are scaled so that sums over a row stay of size 1; those of
    one, which are scales, shifts and variances, lie around 1. So nothing grows out of range, and
    nothing gets so small that processors slow down. What chooses rows of a table is in its range,
    and masks let everything through.
    """

    def __init__(self, device: Any) -> None:
        import torch

        self.device = device
        # On the device meta, tensors have no values.
        is_meta = torch.device(device).type == "meta"
        self.generator = None if is_meta else torch.Generator(device=device).manual_seed(SEED)

    def weight(self, shape: tuple[int, ...], dtype: Any, rows: int, strides: Any = None) -> Any:
        """Return a parameter or buffer."""
        found = self._empty(shape, dtype, strides)
        if not (dtype.is_floating_point or dtype.is_complex):
            return self._integers(found, rows)
        if len(shape) < 2:
            return self._filled(found, lambda x: x.uniform_(0.5, 1.5, generator=self.generator))
        deviation = float(max(1, prod(shape[1:]))) ** -0.5
        return self._filled(found, lambda x: x.normal_(0, deviation, generator=self.generator))

    def result(self, shape: tuple[int, ...], dtype: Any, rows: int, strides: Any = None) -> Any:
        """Return an input of the program, or what an operator might have computed."""
        found = self._empty(shape, dtype, strides)
        if not (dtype.is_floating_point or dtype.is_complex):
            return self._integers(found, rows)
        return self._filled(found, lambda x: x.normal_(generator=self.generator))

    def _empty(self, shape: tuple[int, ...], dtype: Any, strides: Any) -> Any:
        import torch

        # Only an order of dimensions is kept, without gaps or overlaps.
        count = prod(shape)
        if strides is not None and len(strides) == len(shape) and count:
            last = sum(stride * (extent - 1) for extent, stride in zip(shape, strides, strict=True))
            if last + 1 == count and min(strides, default=1) >= 0:
                return torch.empty_strided(shape, strides, dtype=dtype, device=self.device)
        return torch.empty(shape, dtype=dtype, device=self.device)

    def _integers(self, found: Any, rows: int) -> Any:
        import torch

        if found.dtype == torch.bool or not found.dim():
            return found.fill_(1)
        high = max(1, min(rows, 2 ** (torch.iinfo(found.dtype).bits - 1) - 1))
        try:
            return found.random_(0, high, generator=self.generator)
        except (NotImplementedError, RuntimeError):
            # Unsigned types have few functions.
            return found.zero_()

    def _filled(self, found: Any, fill: Any) -> Any:
        import torch

        if found.dtype.itemsize > 1 and not found.dtype.is_complex:
            return fill(found)
        wide = torch.complex64 if found.dtype.is_complex else torch.float32
        drawn = torch.empty_like(found, dtype=wide)
        fill(torch.view_as_real(drawn) if drawn.is_complex() else drawn)
        return found.copy_(drawn)


def rows_of(node: Any) -> int:
    """Return how many rows a tensor of integers may choose, judged by what is done with it.

    Parameters
    ----------
    node
        Of `torch.fx`, the tensor, with types of tensors as its ``meta["val"]``.
    """
    direct = [rows for user in node.users if (rows := _rows_in(user, node)) is not None]
    if direct:
        return min(direct)
    return min([ROWS, *_rows_behind(node, set())])


def _rows_behind(node: Any, seen: set[Any]) -> Iterable[int]:
    """Yield the rows of all tables that are read with what follows from some integers."""
    pending = [node]
    while pending:
        one = pending.pop()
        for user in one.users:
            rows = _rows_in(user, one)
            if rows is not None:
                yield rows
            elif user not in seen and _is_integer(user.meta.get("val")):
                seen.add(user)
                pending.append(user)


def _rows_in(user: Any, node: Any) -> int | None:
    """Return the rows of the table in which an operator looks something up; None if it does not."""
    schema = getattr(user.target, "_schema", None)
    names = _LOOKUPS.get(getattr(user.target, "_opname", ""))
    if schema is None or names is None:
        return None
    given = {
        argument.name: value for argument, value in zip(schema.arguments, user.args, strict=False)
    } | user.kwargs
    table, indices = given.get(names[0]), given.get(names[1])
    is_read = node is indices or (isinstance(indices, list | tuple) and node in indices)
    if not is_read or table is None:
        return None
    shape = table.meta["val"].shape
    if isinstance(indices, list | tuple):
        return min(int(x) for x, one in zip(shape, indices, strict=False) if one is not None)
    axis = given.get("dim", 0)
    return int(shape[axis]) if shape else 1


def _is_integer(value: Any) -> bool:
    return str(getattr(value, "dtype", "")).startswith(("int", "uint"))
