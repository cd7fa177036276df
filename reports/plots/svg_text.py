"""Makes the SVG that matplotlib writes fit into a page: small, with ids that no other has."""

import re
from collections import Counter

from boundmark.reports.plots.hints import PREFIX
from boundmark.reports.plots.style import INK

# Matplotlib escapes these characters in texts and in attributes: a tag ends where it seems to.
TAG = re.compile(r"<[^>]+>")

HINTED = re.compile(rf'<g id="{PREFIX}([^"]*)">(.*?)(?=<g id="|\Z)', re.DOTALL)
MARK = re.compile(r"(<use [^>]*)/>")
COORDINATES = re.compile(r'(?<= )([dxy])="([^"]*)"')
STYLE = re.compile(r' style="([^"]*)"')
ID = re.compile(r' id="([^"]*)"')
REFERENCE = re.compile(r'(url\(#|href="#)([^")]*)')

# A hundredth of a point is not seen.
LONG_DECIMAL = re.compile(r"-?\d*\.\d{3,}")

# A style that is used less often takes no more room where it is.
LEAST_USES = 3


def page_svg(written: str, identifier: str) -> str:
    """Return a figure as SVG that takes its ink from the page and shows its hints.

    Parameters
    ----------
    written
        By matplotlib, without metadata.
    identifier
        What the ids within the SVG are to begin with.
    """
    text = written[written.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"\n\s*", "\n", text)
    text = HINTED.sub(_with_titles, text)
    uses = Counter(style for tag in TAG.findall(text) for style in STYLE.findall(tag))
    classes = {
        style: f"p{at}" for at, style in enumerate(s for s, n in uses.items() if n >= LEAST_USES)
    }
    wanted = {name for tag in TAG.findall(text) for _, name in REFERENCE.findall(tag)}

    def tidied(found: re.Match[str]) -> str:
        tag = COORDINATES.sub(_rounded, found[0])
        tag = STYLE.sub(lambda style: _class(style, classes), tag)
        tag = ID.sub(lambda name: f' id="{identifier}-{name[1]}"' if name[1] in wanted else "", tag)
        return REFERENCE.sub(rf"\g<1>{identifier}-\g<2>", tag)

    # Only of this figure: others of the page have classes of the same names.
    rules = "".join(
        f'[id="{identifier}-figure"] .{name}{{{style}}}' for style, name in classes.items()
    )
    text = TAG.sub(tidied, text)
    text = text.replace("</style>", f"{rules}</style>", 1)
    return text.replace("<svg ", f'<svg id="{identifier}-figure" ', 1)


def _with_titles(group: re.Match[str]) -> str:
    """Return a group with what is to be shown at it, and at its marks if as many are drawn."""
    text, *marks = group[1].split("\n")
    content = group[2]
    if marks and len(MARK.findall(content)) == len(marks):
        titles = iter(marks)
        content = MARK.sub(lambda use: f"{use[1]}><title>{next(titles)}</title></use>", content)
    return f"<g><title>{text}</title>{content}"


def _class(style: re.Match[str], classes: dict[str, str]) -> str:
    name = classes.get(style[1])
    return f' class="{name}"' if name else style[0]


def _rounded(attribute: re.Match[str]) -> str:
    numbers = LONG_DECIMAL.sub(
        lambda one: f"{float(one[0]):.2f}".rstrip("0").rstrip("."), attribute[2]
    )
    return f'{attribute[1]}="{numbers}"'
