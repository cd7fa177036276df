"""The pages' pictures: in both themes, and legible on a phone."""

import re

import pandas as pd
import pictures
import pytest
from page import DOCS, fillings

from boundmark.reports import true_costs

# Of a page of 375 pixels, beside its margins; a point is four thirds of a pixel.
PHONE, PIXELS = 343, 4 / 3


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_pictures_have_the_page_s_ink_and_text_of_eleven_pixels(name: str) -> None:
    """Nothing is black or white, and no text is smaller where the picture fits a phone."""
    svg = (pictures.FOLDER / f"{name}.svg").read_text()
    assert pictures.THEME in svg
    assert "currentColor" in svg
    assert not re.search("#000000|#fff(?:fff)?[^0-9a-f]", svg, re.IGNORECASE)
    width = float(re.search(r'width="([\d.]+)pt"', svg)[1])  # type: ignore[index]
    scale = min(PIXELS, PHONE / width)
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
    assert sizes
    assert min(sizes) * scale >= 11


def test_every_picture_stands_on_a_page() -> None:
    """With words for those who do not see it, and every file is drawn by something."""
    shown = {
        name.removeprefix("picture ")
        for module, _, make in fillings()
        if module == "pictures"
        for name in make().parts
    }
    assert shown == set(pictures.PICTURES)
    assert all(one.words for one in pictures.PICTURES.values())
    assert {path.stem for path in (DOCS / "pictures").glob("*")} == shown


def test_gaps_are_to_the_best_bound_of_an_instance() -> None:
    """Without a bound there is no gap, and the best solution is marked."""
    rows = pd.DataFrame(
        [
            ("pipeline", "a", 12, None), ("pipeline", "a", 10, None), ("pipeline", "a", None, 10),
            ("ordering", "b", 30, 20), ("ordering", "b", None, 15), ("slicing", "c", 7, None),
        ],
        columns=["problem", "instance_sha256", "objective", "bound_certified"],
    )  # fmt: skip
    gaps = pictures.solution_gaps(rows).drop(columns="instance_sha256")
    assert gaps.to_dict("list") == {
        "problem": ["pipeline", "pipeline", "ordering"],
        "gap": [pytest.approx(20.0), pytest.approx(0.0), pytest.approx(50.0)],
        "best": [False, True, True],
    }


def test_the_demo_has_a_dot_for_each_solution() -> None:
    """Each problem has a row, and no solution is below a bound."""
    gaps = pictures.demo_gaps()
    (axes,) = pictures.draw_demo().axes
    assert set(gaps["problem"]) == {one.get_text() for one in axes.get_yticklabels()}
    assert sum(len(one.get_offsets()) for one in axes.collections) == len(gaps)
    assert gaps["gap"].min() >= 0


def test_what_does_not_fit_is_no_gap() -> None:
    """Splits that do not fit have a column of their own, so no point stands for them."""
    data = pictures.default_gaps()
    cells = data["cell"]
    assert data.loc[cells == "none", "gap"].isna().all()
    assert data.loc[cells == "optimal", "gap"].eq(0).all()
    assert "llama.cpp" in set(data["tool"])
    axes, beside = pictures.draw_defaults().axes
    points = sum(len(line.get_xdata()) for line in axes.lines)
    assert points == data["gap"].notna().sum()
    told = sum(int(text.get_text()) for text in beside.texts)
    assert told == (cells == "none").sum()


def test_excess_by_rounds_is_of_the_same_models() -> None:
    """Tuning begins where calibrated costs end, to what the stored rows are rounded to."""
    found = pictures.excesses()
    rows = pictures.tuning.stored()
    start = rows[(rows["start"] == "calibrated") & (rows["noise"] == 0)]
    assert start.groupby("k")["model"].nunique().eq(true_costs.summary()[0].models).all()
    for name in ("tuned, 1 round", "tuned, 2 rounds"):
        assert (pd.Series(found[name]) < pd.Series(found["calibrated"])).all()


def test_operators_of_figure_4_take_time_on_every_device() -> None:
    """A box has as many operators as its model, which stands beside it, on each device."""
    times = pictures.operator_times()
    (axes,) = pictures.draw_operator_times().axes
    labels = [one.get_text() for one in axes.get_yticklabels()]
    assert labels == [f"{model}\n{len(one)}" for model, one in times.items()]
    assert all((one > 0).all() and one.shape[1] == 4 for one in times.values())


def test_no_device_sends_to_itself() -> None:
    """Figure 9 has a number for each pair of devices in either cluster."""
    assert [len(axes.texts) for axes in pictures.draw_bandwidths().axes] == [12, 12]
