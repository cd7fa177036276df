"""Draw the curve of an instance: solutions and bounds of each method over time, as SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from boundmark.reports.plots.style import COLOURS, GLYPHS
from boundmark.reports.text import amount, plain, visible

# In pixels of the drawing.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 460, 190, 52, 14, 8, 32

# Height of a label.
TEXT = 12

# Below this, times are those of the clock and of the runner.
SMALLEST_SECONDS = 1e-3

# Values further from the best solution than this factor are drawn at the edge.
LARGEST_FACTOR = 2.0


@dataclass(frozen=True)
class Steps:
    """The values that one task has found, or proven, and from when on.

    Attributes
    ----------
    look
        Number of its colour and mark.
    is_bound
        Whether the values are lower bounds.
    points
        Pairs of seconds and value, by time, each better than the one before.
    """

    name: str
    look: int
    is_bound: bool
    points: tuple[tuple[float, float], ...]


def improving(
    events: Sequence[tuple[float, float]], *, is_bound: bool
) -> tuple[tuple[float, float], ...]:
    """Return the events that are better than all before."""
    found: list[tuple[float, float]] = []
    for at, value in sorted(events):
        if not found or (value > found[-1][1] if is_bound else value < found[-1][1]):
            found.append((at, value))
    return tuple(found)


def curve_svg(steps: Sequence[Steps], reference: float, time_limit: float) -> str:
    """Return the drawing: logarithmic time, values as multiples of a reference above 0.

    Bounds are dashed; names and last values are shown when pointed at.

    Parameters
    ----------
    reference
        What counts as 1, e.g. the best cost known.
    time_limit
        Where the time ends, in seconds.
    """
    steps = [one for one in steps if one.points]
    if not steps:
        return ""
    seconds = [point[0] for one in steps for point in one.points]
    first = max(SMALLEST_SECONDS, min(seconds))
    last = max(time_limit, max(seconds), 2 * first)
    factors = [_factor(point[1], reference) for one in steps for point in one.points]
    low, high = min([*factors, 1 / 1.02]), max([*factors, 1.02])
    across = _Scale(first, last, LEFT, WIDTH - RIGHT)
    down = _Scale(low, high, HEIGHT - BOTTOM, TOP)
    lines = [
        f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Solutions and bounds over time">',
        f'<path class="frame" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>',
        *_ticks(first, last, low, high, across, down),
    ]
    for one in steps:
        places = [(across(t), down(_factor(value, reference))) for t, value in one.points]
        path = f"M{places[0][0]} {places[0][1]}"
        path += "".join(f"H{x}V{y}" for x, y in places[1:]) + f"H{WIDTH - RIGHT}"
        t, value = one.points[-1]
        what = "bound" if one.is_bound else "cost"
        hint = escape(visible(f"{one.name}: {what} {amount(value)} after {t:.3g} s"))
        colour, glyph = one.look % len(COLOURS), GLYPHS[one.look % len(GLYPHS)]
        kind = " lower" if one.is_bound else ""
        lines.append(
            f'<g class="c{colour}{kind}"><title>{hint}</title><path d="{path}"/>'
            f'<text x="{places[-1][0]}" y="{places[-1][1]}">{glyph}</text></g>'
        )
    return "".join([*lines, "</svg>"])


def _factor(value: float, reference: float) -> float:
    return min(LARGEST_FACTOR, max(1 / LARGEST_FACTOR, value / reference))


@dataclass(frozen=True)
class _Scale:
    """A logarithmic axis from a value at one place to a larger one at another."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> int:
        """Return the place of a value in whole pixels; below the least, the start."""
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start))


def _ticks(
    first: float, last: float, low: float, high: float, across: _Scale, down: _Scale
) -> list[str]:
    found = []
    for power in range(math.ceil(math.log10(first)), math.floor(math.log10(last)) + 1):
        x = across(10.0**power)
        found.append(f'<text class="tick" x="{x}" y="{HEIGHT - 16}">{plain(10.0**power)}</text>')
    found.append(f'<text class="tick" x="{(LEFT + WIDTH) // 2}" y="{HEIGHT - 2}">seconds</text>')
    apart = {factor for factor in (low, high) if abs(down(factor) - down(1.0)) >= TEXT}
    for factor in sorted({1.0, *apart}):
        y = down(factor) + 4
        found.append(f'<text class="side" x="{LEFT - 6}" y="{y}">{factor:.3g}</text>')
    return found
