"""``--select`` with and without ``+``."""

from dataclasses import replace

import pytest

from sparkassets.cli.options import select_assets
from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.spec.model import Schedule
from sparkassets.errors import InputError
from tests.builders import asset, clock, project, source

SHOP = project(
    source("orders"),
    source("shops"),
    asset("clean", "orders"),
    asset("daily", "clean", "shops"),
    asset("report", "daily", by=None),
    asset("alarm", schedule=Schedule(None, parse_condition({"uri": "x-orders"}, clock), "x-orders"), by=None),
    asset("mail", schedule="report", by=None),
    replace(asset("clean_by_hand"), uri="clean"),
)


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        ([], None),
        (["daily"], ("daily",)),
        (["report,clean"], ("clean", "report")),
        (["report", "clean, daily"], ("clean", "daily", "report")),
        (["clean+"], ("clean", "daily", "report", "mail")),
        (["+daily"], ("orders", "shops", "clean", "daily", "clean_by_hand")),
        (["clean_by_hand+"], ("daily", "report", "mail", "clean_by_hand")),
        (["+clean+"], ("orders", "clean", "daily", "report", "mail")),
        (["orders+"], ("orders", "clean", "daily", "report", "alarm", "mail")),
        (["cle*"], ("clean", "clean_by_hand")),
        (["shop?,m*"], ("shops", "mail")),
        (["d[a-b]ily+"], ("daily", "report", "mail")),
        (["+mail"], ("orders", "shops", "clean", "daily", "report", "mail", "clean_by_hand")),
    ],
)
def test_what_a_selection_means(texts, names):
    assert select_assets(SHOP, texts) == names


@pytest.mark.parametrize("text", ["dayly", "+dayly", "dayly+"])
def test_a_name_that_is_not_there_is_refused_with_a_suggestion(text):
    with pytest.raises(InputError) as error:
        select_assets(SHOP, [text])
    assert str(error.value) == "--select: no asset 'dayly' in project 'test'\n  hint: did you mean 'daily'?"


@pytest.mark.parametrize("text", ["", "daily,", "+"])
def test_an_empty_name_is_refused(text):
    with pytest.raises(InputError, match="--select: no asset ''"):
        select_assets(SHOP, [text])


@pytest.mark.parametrize("text", ["x*", "+x*+", "DAILY*"])
def test_a_pattern_that_nothing_fits_is_refused(text):
    with pytest.raises(InputError) as error:
        select_assets(SHOP, [text])
    pattern = text.strip("+")
    assert str(error.value) == (
        f"--select: no asset of project 'test' matches {pattern!r}\n  hint: `sparkassets status` lists the assets; "
        "quote patterns so that the shell does not expand them"
    )


def test_python_takes_what_the_command_line_takes():
    from sparkassets.app.context import select_assets as selected_names

    assert selected_names(SHOP, ["clean+,shop?"]) == ("shops", "clean", "daily", "report", "mail")
