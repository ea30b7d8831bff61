"""What the terms of a selection mean; `--select`, Python and the project's `notify` read them alike."""

from dataclasses import replace

import pytest

from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.spec.model import Schedule
from sparkassets.core.spec.selection import select_assets
from sparkassets.errors import InputError
from tests.builders import asset, clock, project, source

SHOP = project(
    replace(source("orders"), tags=("raw",), file="assets/raw/orders.yml"),
    replace(source("shops"), owner="ann", file="assets/raw/shops.yml"),
    replace(asset("clean", "orders"), tags=("finance", "daily"), owner="sales", file="assets/sales/clean.yml"),
    replace(asset("daily", "clean", "shops"), tags=("finance",), owner="sales", file="assets/sales/daily.yml"),
    replace(asset("report", "daily", by=None), type="report", file="assets/sales_report.yml"),
    asset("alarm", schedule=Schedule(None, parse_condition({"uri": "x-orders"}, clock), "x-orders"), by=None),
    asset("mail", schedule="report", by=None),
    replace(asset("clean_by_hand"), uri="clean"),
)
STATES = {"clean": {"failed", "late"}, "daily": {"stale"}, "report": {"failed"}, "gone": {"failed"}}


def selected(*texts):
    return select_assets(SHOP.assets, texts, project=SHOP.name, find_states=lambda: STATES)


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["daily"], ("daily",)),
        (["report,clean"], ("clean", "report")),
        (["report", "clean, daily"], ("clean", "daily", "report")),
        (["clean+"], ("clean", "daily", "report", "mail")),
        (["clean+1"], ("clean", "daily")),
        (["clean+2"], ("clean", "daily", "report")),
        (["clean+0"], ("clean",)),
        (["+daily"], ("orders", "shops", "clean", "daily", "clean_by_hand")),
        (["1+daily"], ("shops", "clean", "daily", "clean_by_hand")),
        (["1+report+1"], ("daily", "report", "mail")),
        (["clean_by_hand+"], ("daily", "report", "mail", "clean_by_hand")),
        (["+clean+"], ("orders", "clean", "daily", "report", "mail")),
        (["orders+"], ("orders", "clean", "daily", "report", "alarm", "mail")),
        (["cle*"], ("clean", "clean_by_hand")),
        (["shop?,m*"], ("shops", "mail")),
        (["d[a-b]ily+"], ("daily", "report", "mail")),
        (["+mail"], ("orders", "shops", "clean", "daily", "report", "mail", "clean_by_hand")),
        (["tag:finance"], ("clean", "daily")),
        (["tag:f*+1"], ("clean", "daily", "report")),
        (["owner:sales,owner:ann"], ("shops", "clean", "daily")),
        (["type:source"], ("orders", "shops")),
        (["type:report"], ("report",)),
        (["path:assets/sales/"], ("clean", "daily")),
        (["path:assets/sales"], ("clean", "daily")),
        (["path:*/raw/o*.yml"], ("orders",)),
        (["state:failed"], ("clean", "report")),
        (["state:stale+"], ("daily", "report", "mail")),
        (["state:running"], ()),
        (["!tag:finance"], ("orders", "shops", "report", "alarm", "mail", "clean_by_hand")),
        (["tag:finance", "!clean"], ("daily",)),
        (["!daily+, clean+"], ("clean",)),
    ],
)
def test_what_a_selection_means(texts, names):
    assert set(selected(*texts)) == set(names)
    assert selected(*texts) == tuple(name for name in SHOP.assets if name in names)


@pytest.mark.parametrize("text", ["dayly", "+dayly", "dayly+", "!2+dayly+3"])
def test_a_name_that_is_not_there_is_refused_with_a_suggestion(text):
    with pytest.raises(InputError) as error:
        selected(text)
    assert str(error.value) == "no asset 'dayly' in project 'test'\n  hint: did you mean 'daily'?"


@pytest.mark.parametrize("text", ["", "daily,", "+", "!"])
def test_an_empty_name_is_refused(text):
    with pytest.raises(InputError, match="no asset ''"):
        selected(text)


@pytest.mark.parametrize("text", ["x*", "+x*+", "DAILY*"])
def test_a_pattern_that_nothing_fits_is_refused(text):
    with pytest.raises(InputError) as error:
        selected(text)
    pattern = text.strip("+")
    assert str(error.value) == (
        f"no asset of project 'test' matches {pattern!r}\n"
        "  hint: `sparkassets status` lists the assets; quote patterns so that the shell does not expand them"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tag:finanse", "no asset of project 'test' has 'tag:finanse'\n  hint: did you mean 'finance'?"),
        ("owner:", "no asset of project 'test' has 'owner:'\n  hint: known are ann, sales"),
        ("path:assets/sale/", "no asset of project 'test' has 'path:assets/sale/'"),
        ("tags:x", "assets cannot be selected by 'tags' in 'tags:x'\n  hint: did you mean 'tag'?"),
        ("state:broken", "there is no state 'broken' in 'state:broken'\n  hint: known are current, failed, late, "),
        ("state:fialed", "there is no state 'fialed' in 'state:fialed'\n  hint: did you mean 'failed'?"),
    ],
)
def test_a_selector_that_is_wrong_is_named_with_near_ones(text, message):
    with pytest.raises(InputError) as error:
        selected(text)
    assert str(error.value).startswith(message)


def test_states_are_only_looked_for_where_a_term_asks():
    def look():
        raise AssertionError

    assert select_assets(SHOP.assets, ["daily"], project="test", find_states=look) == ("daily",)
    with pytest.raises(
        InputError, match="'state:failed' cannot be used here: only commands that read the journal know states"
    ):
        select_assets(SHOP.assets, ["state:failed"], project="test")
