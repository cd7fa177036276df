"""The page in a real browser: silent, without requests, and its rows sort and filter."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documented import append

from boundmark.reports.report import write_report
from boundmark.reports.stored.store import ResultStore

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="needs the programs chromium and chromedriver"
)

# Nothing but the page, and no call home.
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1200,900",
)  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, synthetic: Any) -> Path:
    """Return the page of a run with failures, two data sets and nine methods."""
    directory = tmp_path_factory.mktemp("shown")
    store = ResultStore.create_or_open(directory)
    for row, trace in synthetic(members=2):
        append(store, row, trace)
    write_report(directory, ["html"])
    return directory / "report.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a browser with an empty profile."""
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture
def shown(browser: Any, page: Path) -> Any:
    """Return the browser with the page as it is when opened."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get("about:blank")
    browser.get(page.as_uri())
    # On a busy machine, scripts have run before all rows were there.
    WebDriverWait(browser, 60).until(
        lambda one: one.execute_script(
            "return location.protocol === 'file:' && document.readyState === 'complete';"
        )
    )
    return browser


def column(shown: Any, caption: str, head: str) -> list[str]:
    """Return the texts of a column of the table below a heading, without hidden rows."""
    script = """
      const table = [...document.querySelectorAll("h3")]
        .find((h) => h.textContent === arguments[0]).nextElementSibling.querySelector("table");
      const at = [...table.tHead.rows[0].cells].findIndex((c) => c.textContent === arguments[1]);
      return [...table.querySelectorAll("tbody tr:not(.group)")]
        .filter((row) => row.offsetParent !== null)
        .map((row) => row.cells[at].textContent);
    """
    found: list[str] = shown.execute_script(script, caption, head)
    return found


def click_head(shown: Any, caption: str, head: str) -> None:
    """Click the head of a column."""
    script = """
      [...[...document.querySelectorAll("h3")].find((h) => h.textContent === arguments[0])
        .nextElementSibling.querySelectorAll("thead th")]
        .find((c) => c.textContent === arguments[1]).querySelector("button").click();
    """
    shown.execute_script(script, caption, head)


def rows_with(shown: Any, title: str, words: str) -> list[str]:
    """Return the texts of the rows of a section that stay when words are typed above them."""
    script = """
      const section = [...document.querySelectorAll("h2")]
        .find((h) => h.textContent === arguments[0]).closest("section");
      const form = section.querySelector(".filter");
      form.elements.words.value = arguments[1];
      form.elements.words.dispatchEvent(new Event("input", {bubbles: true}));
      const rows = [...section.querySelectorAll("tbody tr:not(.group)")].filter((r) => !r.hidden);
      if (!form.elements.count.value.startsWith(`${rows.length} of `)) throw new Error("count");
      if ([...section.querySelectorAll(".scroll:not([hidden]) > table")]
        .some((table) => table.querySelectorAll("tbody tr:not(.group):not([hidden])").length === 0))
        throw new Error("a head without rows");
      return rows.map((row) => row.textContent);
    """
    found: list[str] = shown.execute_script(script, title, words)
    return found


METHODS = "Methods over all instances"


def test_nothing_is_requested_and_nothing_is_wrong(shown: Any) -> None:
    """The page is the only thing that is loaded, and the console stays empty."""
    sent = [
        entry["message"]
        for entry in shown.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"] and "http" in entry["message"]
    ]
    assert [text for text in sent if '"url":"http' in text] == []
    assert shown.get_log("browser") == []


def test_columns_sort(shown: Any) -> None:
    """Numbers by value and names as people do, upward first; missing values are last."""
    click_head(shown, METHODS, "seconds")
    up = [float(text.split()[-1].replace(",", "").strip("<")) for text in _seconds(shown)]
    assert up == sorted(up)
    click_head(shown, METHODS, "seconds")
    down = [float(text.split()[-1].replace(",", "").strip("<")) for text in _seconds(shown)]
    assert down == sorted(up, reverse=True)
    click_head(shown, METHODS, "method")
    assert column(shown, METHODS, "method")[0] == "brkga-100"


def _seconds(shown: Any) -> list[str]:
    return column(shown, METHODS, "seconds")


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Instances", "onnx-light"), ("Instances", "ONNX-light K="), ("Failed tasks", "crashed"),
        ("Each instance", "brkga-100"), ("Instances", "no such words"),
    ],
)  # fmt: skip
def test_rows_filter(shown: Any, title: str, words: str) -> None:
    """Only rows with all the words stay, no head stays without rows, and all come back."""
    everything = rows_with(shown, title, "")
    found = rows_with(shown, title, words)
    assert len(found) < len(everything)
    assert bool(found) == (words != "no such words")
    assert all(word.lower() in text.lower() for word in words.split() for text in found)
    assert rows_with(shown, title, "") == everything


def test_filters_stand_in_what_they_change(shown: Any) -> None:
    """Plots and means are of all rows, and no filter is above them."""
    assert not shown.execute_script("return !!document.querySelector('main > section .filter');")


def test_instances_sort_over_all_data_sets(shown: Any) -> None:
    """The largest gap is on top, whatever data set it is of."""
    caption = "Best verified solution and best certified bound of each instance"
    for _ in range(2):
        click_head(shown, caption, "gap (%)")
    shown.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; });")
    gaps = column(shown, caption, "gap (%)")
    numbers = [float(gap.replace("optimal", "0").strip("< ").replace(",", "")) for gap in gaps]
    assert numbers == sorted(numbers, reverse=True)


def test_instances_unfold(shown: Any) -> None:
    """A link of the table opens what it is about, where every file that is linked exists."""
    shown.execute_script("document.querySelector('td a[href^=\"#instance\"], th a').click();")
    shown.execute_async_script("setTimeout(arguments[0], 100);")
    links = shown.execute_script(
        "return [...document.querySelectorAll('details[open] a')].map((a) => a.href);"
    )
    files = [link for link in links if link.startswith("file://") and "#" not in link]
    assert any("/certificates/" in link for link in files)
    assert all(Path(link.removeprefix("file://")).exists() for link in files)
    assert shown.execute_script("return !!document.querySelector('details[open] svg.curve');")


def test_details_are_folded_until_a_link_leads_there(shown: Any) -> None:
    """What stands open is short; the contents' links unfold the rest."""
    assert shown.execute_script("return document.documentElement.scrollHeight;") < 3000
    shown.execute_script("""
      [...document.querySelectorAll("nav a")].find((a) => a.textContent.endsWith("else")).click();
    """)
    shown.execute_async_script("setTimeout(arguments[0], 100);")
    script = "return [...document.querySelectorAll('details.more[open]')].map((d) => d.id);"
    assert len(shown.execute_script(script)) == 1


def test_plots_tell_what_one_points_at(shown: Any) -> None:
    """Some mark of the plot of times is what lies below the pointer, and says what it is."""
    script = """
      const plot = document.getElementById("plot-pipeline/runtime_scatter");
      plot.closest("details").open = true;
      plot.scrollIntoView();
      return [...plot.querySelectorAll("use > title")].map((title) => {
        const box = title.parentElement.getBoundingClientRect();
        const below = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return below && below.tagName === "use" ? below.textContent : "";
      });
    """
    assert any("brkga-100: 60 nodes, " in text for text in shown.execute_script(script))


def at_width(shown: Any, width: int, script: str) -> Any:
    """Return what a script returns in a window that is so wide."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    shown.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    found = shown.execute_script(script)
    shown.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    return found


@pytest.mark.parametrize("width", [375, 400, 1200])
def test_page_is_as_wide_as_the_window(shown: Any, width: int) -> None:
    """Wide tables scroll within themselves."""
    assert at_width(shown, width, "return document.documentElement.scrollWidth;") <= width


def test_main_tables_are_whole_on_a_small_screen(shown: Any) -> None:
    """No column of what stands open is cut off in a window of 1366 pixels."""
    script = """
      return [...document.querySelectorAll("main > section .scroll")]
        .filter((one) => one.querySelector("table"))
        .map((one) => one.scrollWidth - one.clientWidth);
    """
    hidden = at_width(shown, 1366, script)
    assert hidden
    assert max(hidden) == 0


def test_the_gap_stays_in_view_on_a_phone(shown: Any) -> None:
    """Method and gap stand side by side, wherever the other columns are scrolled to."""
    script = """
      return [...document.querySelectorAll("main > section .scroll")].flatMap((one) => {
        const gap = one.querySelector("tbody .g");
        if (!gap) return [];
        const row = gap.parentElement, edge = one.getBoundingClientRect();
        return [0, 50, 10000].map((place) => {
          one.scrollLeft = place;
          const [first, other] = [row.cells[0], gap].map((cell) => cell.getBoundingClientRect());
          return first.left >= edge.left && first.right <= other.left && other.right <= edge.right;
        });
      });
    """
    seen = at_width(shown, 375, script)
    assert seen
    assert all(seen)


@pytest.mark.slow
def test_without_scripts_all_rows_are_there(browser: Any, page: Path) -> None:
    """The tables are part of the page, and the filters, which would do nothing, are not shown."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.get(page.as_uri())
    by_css = "css selector"
    rows = browser.find_elements(by_css, "tbody tr")
    form = browser.find_element(by_css, ".filter")
    is_shown = form.is_displayed()
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert len(rows) > 100
    assert not is_shown
