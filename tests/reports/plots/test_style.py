"""Twenty methods can be told apart, on white and on black, in colour and without."""

from itertools import combinations

import numpy as np
import pytest

from boundmark.reports.plots import COLOURS, GLYPHS, MARKERS, looks

WHITE, DARK = "#ffffff", "#14171a"


def linear(colour: str) -> np.ndarray:
    """Return the linear red, green and blue of a colour such as ``"#0072B2"``."""
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(colour: str) -> np.ndarray:
    """Return a colour in CIELAB (D65)."""
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
         [0.0193339, 0.1191920, 0.9503041]]
    )  # fmt: skip
    x, y, z = np.cbrt(to_xyz @ linear(colour) / [0.95047, 1.0, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2."""
    light = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] + 0.05 for c in (one, other))
    return float(light[1] / light[0])


def test_colours_differ() -> None:
    """By far more than what is just noticeable, which is 2.3."""
    assert len(COLOURS) == 20
    distances = [np.linalg.norm(lab(a) - lab(b)) for a, b in combinations(COLOURS, 2)]
    assert min(distances) > 25


@pytest.mark.parametrize("page", [WHITE, DARK])
def test_colours_stand_out(page: str) -> None:
    """From light pages and from dark ones."""
    assert min(contrast(colour, page) for colour in COLOURS) > 2


def test_markers_differ() -> None:
    """In plots and on pages, whatever the colour."""
    assert len(set(MARKERS)) == len(MARKERS) == len(set(GLYPHS)) == len(GLYPHS) == 21
    names = [str(at) for at in range(420)]
    assert len({(look.color, look.marker) for look in looks(names).values()}) == 420
