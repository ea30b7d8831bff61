"""The live page in a browser: by keys alone, on a phone, and in place while the journal goes on."""

import os
import re
import subprocess
import sys
import threading

import pytest

from sparkassets.cli import main
from sparkassets.features.ui.commands import CommandLine, CommandRunner
from sparkassets.features.ui.live_report import LiveReport
from sparkassets.features.ui.server import UiServer
from sparkassets.wiring import Project
from tests.report.browser import browsing, chromium

pytestmark = [
    pytest.mark.skipif(chromium() is None, reason="needs Chromium"),
    pytest.mark.usefixtures("shop"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with browsing(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def page(browser):
    """The live page of the shop, followed as the command follows it."""
    report = LiveReport(lambda: Project.load("conf"))
    line = CommandLine((sys.executable, "-m", "sparkassets"), (), dict(os.environ))
    ended = threading.Event()

    def follow():
        while not ended.wait(0.1):
            report.refresh()

    follower = threading.Thread(target=follow)
    with UiServer(report, CommandRunner(line, allows_changes=True), port=0) as server:
        follower.start()
        browser.size(1280, 900)
        browser.open(server.address)
        browser.address = server.address
        yield browser
        ended.set()
        follower.join()
    problems, browser.problems[:] = [*browser.problems], []
    browser.leave()
    browser.problems.clear()
    assert problems == []


def go(browser, place):
    browser.ask(f"location.hash = {place!r}")
    browser.until(f"document.getElementById('main').dataset.ready === {place!r}")


def tab_to(browser, text):
    """Presses Tab until the element with that text has the focus."""
    for _ in range(60):
        browser.press("Tab")
        if browser.ask("document.activeElement.textContent") == text:
            return
    raise AssertionError(f"{text} is not reached by Tab")


def test_the_token_does_not_stay_in_the_address(page):
    assert "token" not in page.ask("location.href")


def test_an_action_is_done_by_keys_alone_and_the_page_follows_in_place(page):
    go(page, "#/asset/daily_revenue")
    page.ask("window.heading = document.querySelector('h1')")
    tab_to(page, "Pause…")
    assert page.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.press("Enter")
    page.until("document.activeElement.name === 'reason'")
    for key in "a strike":
        page.press(key)
    page.press("Enter")
    page.until("document.querySelector('.answer').textContent.includes('sparkassets pause daily_revenue')")
    page.press("Escape")
    page.until("!document.querySelector('dialog')")
    page.until("document.querySelector('.title').textContent.includes('paused')")
    assert re.search(r"paused by \w+: a strike", page.ask("document.querySelector('.tree').textContent"))
    assert page.ask("window.heading === document.querySelector('h1')")


def test_what_was_typed_and_chosen_stays_when_something_happens(page):
    go(page, "#/assets")
    page.ask("document.querySelector('header.page input').focus()")
    for key in "rev":
        page.press(key)
    page.until("document.querySelectorAll('tbody tr').length === 1")
    assert main(["pause", "daily_revenue", "--reason", "a strike"]) == 0
    page.until("document.querySelector('tbody').textContent.includes('paused')")
    field = page.ask("[document.activeElement.value, document.querySelectorAll('tbody tr').length]")
    assert field == ["rev", 1]


def test_an_error_is_that_of_the_command_line(page):
    go(page, "#/asset/daily_revenue")
    page.ask(
        "[...document.querySelectorAll('.actions button')].find((each) => each.textContent === 'Backfill…').click()"
    )
    page.ask("document.querySelector('[name=partition]').value = '2025-13-01'")
    page.ask("document.querySelector('[name=reason]').value = 'x'")
    page.ask("document.querySelector('dialog form').requestSubmit()")
    page.until("document.querySelector('.answer .error')")
    assert "month must be in 1..12" in page.ask("document.querySelector('.answer .error').textContent")
    assert page.ask("document.querySelector('.go').textContent") == "Show its price"


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_nothing_is_wider_than_a_phone(page, is_dark):
    page.size(390, 844, phone=True)
    page.dark(on=is_dark)
    for place in ("#/", "#/assets", "#/asset/daily_revenue", "#/asset/daily_revenue/definition", "#/runs"):
        go(page, place)
        assert page.ask("document.scrollingElement.scrollWidth") <= 390, place
    go(page, "#/asset/daily_revenue")
    page.ask(
        "[...document.querySelectorAll('.actions button')].find((each) => each.textContent === 'Backfill…').click()"
    )
    assert page.ask("document.querySelector('dialog').getBoundingClientRect().right") <= 390
    assert page.ask("document.querySelector('dialog').scrollWidth <= document.querySelector('dialog').clientWidth")
    page.dark(on=False)


def test_it_says_when_the_server_is_gone(browser):
    ours = [sys.executable, "-m", "sparkassets", "ui", "--port", "0"]
    with subprocess.Popen(ours, stdout=subprocess.PIPE, text=True) as process:
        browser.open(process.stdout.readline().strip())
        assert "live" in browser.ask("document.querySelector('.as-of').textContent")
        process.terminate()
    browser.until("document.querySelector('.as-of').textContent.includes('not connected')")
    browser.leave()
    browser.problems.clear()  # the browser says that nothing answers
