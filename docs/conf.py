"""Settings of the documentation's site: `nox -s docs` builds it in build/docs."""

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from citations import linked

project = "boundmark"
copyright = "the boundmark authors"
version = release = version_of("boundmark")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "library_pages",
]

exclude_patterns = [
    "gallery", "examples", "static", "tables", "generated/**/*.ipynb", "**/*.zip",
    # Earlier builds left these.
    "sg_execution_times.rst",
    "**/sg_execution_times.rst",
]  # fmt: skip
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path: list[str] = []

# Anchors of headings, as code hosts make them; a link to one that is not there is a warning.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
suppress_warnings = ["config.cache"]

# Parameters are described once, by docstrings; signatures have the types.
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 80
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = f"boundmark {version}"
html_copy_source = False
html_static_path = [
    "static",
    "../reports/pages/templates/tables.css",
    "../reports/pages/templates/report.js",
]
html_css_files = ["site.css"]
html_show_sphinx = False
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "show_signature": False,
    # Only tables that an example ends with are shown: axes have words for programs.
    "capture_repr": ("_repr_html_",),
    # A page whose script would come from elsewhere.
    "write_computation_times": False,
    "image_scrapers": ("matplotlib",),
    "min_reported_time": 60,
}

# Files of the repository that are no pages of the site, by the depth of the page.
_OUTSIDE = (
    re.compile(r"\[([^\]]+)\]\(\.\./(?!docs/)([^)#\s]+)[^)]*\)"),
    re.compile(r"\[([^\]]+)\]\(\.\./\.\./(?!docs/)([^)#\s]+)[^)]*\)"),
)

# Blanks between a number and its sign, as in "< 0.1 %", at which no line is broken.
_SIGNED = re.compile(r"(?<=\d) (?=%)|(?:(?<=[<>])|(?<=&[lg]t;)) (?=\d)")

# An entry of the bibliography.
_ENTRY = re.compile(r"^- \*\*\[([A-Z0-9]+)\]\*\*", re.MULTILINE)

_CODE = re.compile(r"(^```.*?^```|(?:^ {4}[^\n]*\n)+|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def prepare(app: object, page: str, source: list[str]) -> None:
    """Link keys to the bibliography, name files outside this folder, and keep signs at numbers."""
    text = (
        _OUTSIDE[page.count("/")].sub(r"\1 (`\2`)", source[0]) if page.count("/") < 2 else source[0]
    )
    if page == "references":
        text = _ENTRY.sub(lambda entry: f"- [**{entry[1]}**]{{#{entry[1].lower()}}}", text)
    elif not page.startswith("generated"):
        parts = _CODE.split(text)
        parts[::2] = (_SIGNED.sub("\N{NO-BREAK SPACE}", linked(part)) for part in parts[::2])
        text = "".join(parts)
    source[0] = text


def setup(app: object) -> None:
    """Connect what happens before a page is read."""
    app.connect("source-read", prepare)  # type: ignore[attr-defined]
