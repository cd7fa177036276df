"""Builds a convolutional network operator by operator, with the shapes that costs follow from."""

from dataclasses import dataclass

BYTES_PER_VALUE = 4


@dataclass(frozen=True)
class Images:
    """The output of an operator: square images, one for each channel.

    Attributes
    ----------
    producer
        Number of the operator; -1 for what the network is given.
    """

    producer: int
    channels: int
    size: int

    @property
    def values(self) -> int:
        """Number of values."""
        return self.channels * self.size**2


@dataclass(frozen=True)
class Operator:
    """An operator, with its arithmetic for one input of the network, batch size 1.

    Attributes
    ----------
    producers
        Numbers of the operators that it reads from.
    flops
        Arithmetic operations; a multiply-add counts as two.
    read_bytes, written_bytes, param_bytes
        Bytes of its inputs, of its output, and of its parameters.
    """

    op_type: str
    producers: tuple[int, ...]
    flops: int
    read_bytes: int
    written_bytes: int
    param_bytes: int


class Network:
    """The operators so far, in the order in which they were added, which is a topological one."""

    def __init__(self) -> None:
        self.operators: list[Operator] = []

    def convolution(
        self,
        x: Images,
        channels: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        *,
        padded: bool = True,
    ) -> Images:
        """Add a convolution; without padding, the images shrink by its kernel."""
        height, width = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        size = _size_after(x.size, max(height, width), stride, padded)
        weights = x.channels * channels * height * width
        return self._add("conv", (x,), channels, size, 2 * weights * size**2, weights)

    def depthwise(self, x: Images, kernel: int, stride: int = 1) -> Images:
        """Add a convolution of each channel by itself."""
        size = _size_after(x.size, kernel, stride, padded=True)
        weights = x.channels * kernel**2
        return self._add("depthwise", (x,), x.channels, size, 2 * weights * size**2, weights)

    def pool(self, x: Images, kernel: int, stride: int = 1, *, padded: bool = True) -> Images:
        """Add a maximum or mean over small squares."""
        size = _size_after(x.size, kernel, stride, padded)
        return self._add("pool", (x,), x.channels, size, x.channels * (kernel * size) ** 2, 0)

    def global_pool(self, x: Images) -> Images:
        """Add a mean over each channel."""
        return self._add("global_pool", (x,), x.channels, 1, x.values, 0)

    def normalization(self, x: Images) -> Images:
        """Add a batch normalisation: mean, variance, scale and shift for each channel."""
        return self._add("norm", (x,), x.channels, x.size, 2 * x.values, 4 * x.channels)

    def relu(self, x: Images) -> Images:
        """Add an activation."""
        return self._add("relu", (x,), x.channels, x.size, x.values, 0)

    def sum(self, x: Images, y: Images) -> Images:
        """Add a sum of two tensors of one shape."""
        return self._add("sum", (x, y), x.channels, x.size, x.values, 0)

    def concatenation(self, *parts: Images) -> Images:
        """Add an operator that stacks channels."""
        return self._add("concat", parts, sum(part.channels for part in parts), parts[0].size, 0, 0)

    def dense(self, x: Images, channels: int) -> Images:
        """Add a fully connected layer."""
        weights = x.values * channels
        return self._add("dense", (x,), channels, 1, 2 * weights, weights + channels)

    def _add(
        self,
        op_type: str,
        inputs: tuple[Images, ...],
        channels: int,
        size: int,
        flops: int,
        parameters: int,
    ) -> Images:
        output = Images(len(self.operators), channels, size)
        # What is read twice is one tensor.
        read = dict.fromkeys(inputs)
        self.operators.append(
            Operator(
                op_type,
                tuple(x.producer for x in read if x.producer >= 0),
                flops,
                BYTES_PER_VALUE * sum(x.values for x in read),
                BYTES_PER_VALUE * output.values,
                BYTES_PER_VALUE * parameters,
            )
        )
        return output


def _size_after(size: int, kernel: int, stride: int, padded: bool) -> int:
    return -(-size // stride) if padded else (size - kernel) // stride + 1
