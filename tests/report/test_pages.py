"""The pages in a real browser, from a file: no script error, no request elsewhere, markup stays text."""

import pytest

from tests.report.browser import browsing, chromium
from tests.report.demo import MARKUP, site

pytestmark = pytest.mark.skipif(chromium() is None, reason="no chromium on this machine")

PAGES = [
    "#/",
    "#/assets",
    "#/assets?state=failed",
    "#/graph",
    "#/graph?focus=all_sales&depth=1",
    "#/runs",
    "#/datasets",
    "#/nowhere",
    "#/run/regional_sales-224",
    "#/run/nobody",
    "#/asset/nobody",
    "#/asset/regional_sales/partitions?partition=2025-03-08,it",
    "#/asset/regional_sales/lineage?partition=2025-03-07,it",
    "#/asset/monthly_delays/lineage?partition=2025-02",
    "#/asset/airports/lineage",
    *(
        f"#/asset/{name}"
        for name in ("flights", "daily_delays", "fleet_report", "split_sales", "small_orders", "model_scores")
    ),
    *(f"#/asset/split_sales/{tab}" for tab in ("partitions", "runs", "lineage", "definition")),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    site(folder)
    return (folder / "index.html").as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with browsing(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(autouse=True)
def _in_order(browser):
    """No test leaves an error, or asks for anything but files."""
    browser.leave()
    browser.problems.clear()
    browser.asked.clear()
    browser.size(1280, 900)
    browser.dark(on=False)
    yield
    assert browser.problems == []
    assert [address for address in browser.asked if not address.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_shows_itself_whole(browser, place, dark, width):
    browser.size(width, 844, phone=width < 500)
    browser.dark(on=dark)
    for page in PAGES:
        browser.open(place + page)
        assert browser.ask("document.querySelector('h1').textContent.length") > 0
        assert "cannot be shown" not in browser.ask("document.getElementById('main').textContent"), page
        assert browser.ask("document.documentElement.scrollWidth <= innerWidth"), (page, width)
    assert browser.ask("window.broken") is None


def test_markup_is_text(browser, place):
    browser.open(f"{place}#/asset/split_sales")
    assert browser.ask("document.querySelector('.lead').textContent") == MARKUP
    browser.open(f"{place}#/asset/model_scores/definition")
    assert MARKUP in browser.ask("document.getElementById('main').textContent")
    assert browser.ask("document.querySelectorAll('#main script, #main img').length") == 0
    assert browser.ask("window.broken") is None


def test_the_first_page_says_what_failed_and_waits(browser, place):
    browser.open(f"{place}#/")
    told = browser.ask("[...document.querySelectorAll('.tile')].map((each) => each.innerText.replace(/\\s+/g, ' '))")
    assert told[0] == "1 ✕ failed"
    sections = browser.ask("[...document.querySelectorAll('h2')].map((each) => each.textContent)")
    assert sections[:4] == ["Failed", "Withheld", "Late", "Waiting"]
    assert "postgres://report:***@db" in browser.ask("document.querySelector('.error').textContent")


def test_a_partition_is_found_by_keys_alone(browser, place):
    browser.open(f"{place}#/asset/regional_sales/partitions?partition=2025-03-08,it")
    assert browser.ask("document.querySelector('#partition h3').textContent") == "2025-03-08,it"
    browser.ask("document.querySelector('.grid').focus()")
    for key in ("ArrowLeft", "ArrowUp", "Enter"):
        browser.press(key)
    browser.until("location.hash.includes('2025-03-07%2Cfr')")
    browser.until("document.querySelector('#partition h3')?.textContent === '2025-03-07,fr'")
    assert "regional_sales-" in browser.ask("document.querySelector('#partition dl').textContent")


def test_lineage_goes_up_and_down_by_partitions(browser, place):
    browser.open(f"{place}#/asset/all_sales/lineage?partition=2025-02-01")
    told = browser.ask("[...document.querySelectorAll('.tree')].map((each) => each.innerText.replace(/\\s+/g, ' '))")
    assert "regional_sales 2025-02-01,*" in told[0]
    assert "model_scores all of it" in told[1]


def test_search_finds_by_name_column_and_words(browser, place):
    browser.open(f"{place}#/")
    browser.press("/")
    browser.until("document.activeElement.id === 'search'")
    for key in "mean_del":
        browser.press(key)
    browser.until("document.querySelector('#found li a')?.textContent.includes('daily_delays')")
    browser.press("Enter")
    browser.until("location.hash === '#/asset/daily_delays'")


def test_pages_are_reached_by_keys(browser, place):
    browser.open(f"{place}#/")
    for key in "gr":
        browser.press(key)
    browser.until("document.getElementById('main').dataset.ready === '#/runs'")
    browser.press("t")
    browser.until("document.documentElement.dataset.theme === 'light'")
    for key in "tt":
        browser.press(key)
    browser.press("?")
    browser.until("document.querySelector('dialog[open]')")


def test_a_report_that_was_written_anew_says_so(browser, tmp_path):
    site(tmp_path / "site")
    page = (tmp_path / "site" / "index.html").as_uri()
    browser.open(f"{page}#/")
    for folder in (tmp_path / "site" / "data").iterdir():
        for path in folder.iterdir():
            path.unlink()
    browser.ask("location.hash = '#/asset/flights'")
    browser.until("document.getElementById('main').textContent.includes('rewritten. Reload the page.')")
    browser.problems.clear()  # the browser says that the file is not there


def test_validations_say_what_is_withheld_and_why(browser, place):
    browser.open(f"{place}#/asset/regional_sales/validations")
    told = browser.ask("document.querySelector('.panel').innerText.replace(/\\s+/g, ' ')")
    assert told.startswith("! withheld 2025-03-05,pl regional_sales-")
    assert "not_null(amount) ! withheld 12 of 120" in told
    assert told.endswith("Published all the same by sparkassets accept regional_sales --reason …")
    assert browser.ask("document.querySelector('details td').textContent") == "2025-03-05"
    marks = browser.ask("[...document.querySelectorAll('.strip')].map((each) => each.querySelectorAll('a').length)")
    assert len(marks) == 3
    assert min(marks) > 5
    browser.open(f"{place}#/asset/regional_sales/partitions?partition=2025-03-05,pl")
    assert "not_null(amount): 12 of 120 rows" in browser.ask("document.querySelector('#partition').textContent")
