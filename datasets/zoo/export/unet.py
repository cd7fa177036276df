"""U-Nets: for segmentation (Ronneberger et al., MICCAI 2015) and for latent diffusion."""

from itertools import pairwise
from typing import Any

import torch
from torch import nn


def _double(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class UNet(nn.Module):
    """The network of Figure 1, with padded convolutions and batch normalisation."""

    def __init__(
        self, widths: tuple[int, ...] = (64, 128, 256, 512, 1024), classes: int = 2
    ) -> None:
        super().__init__()
        pairs = list(pairwise(widths))
        self.first = _double(3, widths[0])
        self.pool = nn.MaxPool2d(2)
        self.down = nn.ModuleList(_double(a, b) for a, b in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in reversed(pairs))
        self.merge = nn.ModuleList(_double(b, a) for a, b in reversed(pairs))
        self.last = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x: Any) -> Any:
        levels = [self.first(x)]
        for down in self.down:
            levels.append(down(self.pool(levels[-1])))
        x = levels.pop()
        for up, merge in zip(self.up, self.merge, strict=True):
            x = merge(torch.cat([levels.pop(), up(x)], 1))
        return self.last(x)


class TimedResidual(nn.Module):
    """Two convolutions with the time embedded between them."""

    def __init__(self, inputs: int, outputs: int, time: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, inputs), nn.GroupNorm(32, outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time = nn.Linear(time, outputs)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()
        self.act = nn.SiLU()

    def forward(self, x: Any, time: Any) -> Any:
        y = self.conv1(self.act(self.norm1(x)))
        y = y + self.time(self.act(time))[:, :, None, None]
        return self.skip(x) + self.conv2(self.act(self.norm2(y)))


class Attention(nn.Module):
    """Attention to oneself or, given a context, to that."""

    def __init__(self, width: int, context: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(context, width, bias=False)
        self.value = nn.Linear(context, width, bias=False)
        self.output = nn.Linear(width, width)

    def forward(self, x: Any, context: Any) -> Any:
        def split(y: Any) -> Any:
            return y.view(y.shape[0], y.shape[1], self.heads, -1).transpose(1, 2)

        query, key, value = (
            split(self.query(x)),
            split(self.key(context)),
            split(self.value(context)),
        )
        scores = torch.matmul(query, key.transpose(-1, -2)) * query.shape[-1] ** -0.5
        mixed = torch.matmul(torch.softmax(scores, -1), value)
        return self.output(mixed.transpose(1, 2).reshape(x.shape))


class GatedFeedForward(nn.Module):
    """A feed-forward layer with gated GELU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)
        self.act = nn.GELU()

    def forward(self, x: Any) -> Any:
        value, gate = self.widen(x).chunk(2, -1)
        return self.narrow(value * self.act(gate))


class SpatialTransformer(nn.Module):
    """Attention of all positions to each other and to a text."""

    def __init__(self, width: int, context: int, heads: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(32, width)
        self.before, self.after = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width) for _ in range(3))
        self.own, self.cross = Attention(width, width, heads), Attention(width, context, heads)
        self.feed = GatedFeedForward(width)

    def forward(self, x: Any, context: Any) -> Any:
        batch, width, height, breadth = x.shape
        y = self.before(self.norm(x)).flatten(2).transpose(1, 2)
        normed = self.norm1(y)
        y = y + self.own(normed, normed)
        y = y + self.cross(self.norm2(y), context)
        y = y + self.feed(self.norm3(y))
        return x + self.after(y.transpose(1, 2).reshape(batch, width, height, breadth))


class _Step(nn.Module):
    """A residual block and, on some levels, a transformer."""

    def __init__(self, inputs: int, outputs: int, time: int, context: int, attends: bool) -> None:
        super().__init__()
        self.residual = TimedResidual(inputs, outputs, time)
        self.transformer = SpatialTransformer(outputs, context, 8) if attends else None

    def forward(self, x: Any, time: Any, context: Any) -> Any:
        x = self.residual(x, time)
        return x if self.transformer is None else self.transformer(x, context)


class DiffusionUNet(nn.Module):
    """The denoiser of Rombach et al., CVPR 2022, with text as context."""

    def __init__(self, width: int = 320, context: int = 768) -> None:
        super().__init__()
        time = 4 * width
        widths = (width, 2 * width, 4 * width, 4 * width)
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(4, width, 3, padding=1)
        self.down, self.shrink = nn.ModuleList(), nn.ModuleList()
        kept, at = [width], width
        for level, outputs in enumerate(widths):
            for _ in range(2):
                self.down.append(_Step(at, outputs, time, context, level < 3))
                at = outputs
                kept.append(at)
            if level < 3:
                self.shrink.append(nn.Conv2d(at, at, 3, 2, 1))
                kept.append(at)
        self.middle = _Step(at, at, time, context, attends=True)
        self.last_middle = TimedResidual(at, at, time)
        self.up, self.grow = nn.ModuleList(), nn.ModuleList()
        for level, outputs in reversed(list(enumerate(widths))):
            for _ in range(3):
                self.up.append(_Step(at + kept.pop(), outputs, time, context, level < 3))
                at = outputs
            if level > 0:
                self.grow.append(nn.Conv2d(at, at, 3, padding=1))
        self.norm, self.act = nn.GroupNorm(32, width), nn.SiLU()
        self.last = nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, x: Any, steps: Any, context: Any) -> Any:
        time = self.time(steps)
        x = self.first(x)
        kept = [x]
        for at, down in enumerate(self.down):
            x = down(x, time, context)
            kept.append(x)
            if at % 2 and at < 6:
                x = self.shrink[at // 2](x)
                kept.append(x)
        x = self.last_middle(self.middle(x, time, context), time)
        for at, up in enumerate(self.up):
            x = up(torch.cat([x, kept.pop()], 1), time, context)
            if at % 3 == 2 and at < 9:
                x = self.grow[at // 3](nn.functional.interpolate(x, scale_factor=2.0))
        return self.last(self.act(self.norm(x)))
