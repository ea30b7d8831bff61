"""When people expect an asset, and who is told of it: what is read, and what is refused, without showing a URL."""

import pytest

from sparkassets.core.instants import from_unix
from sparkassets.core.spec.asset_services import NotifyRule
from tests.builders import at
from tests.core.spec.in_memory import compiled, errors, errors_of, one

SOURCE = "asset: a\nsource: true\npartition: {by: day}\n"
ALL = ("failure", "withheld", "waiting", "late", "recovery")


def deadlines(text, now, **more):
    found = one(f"{SOURCE}{text}\n", **more).deadlines
    slot = found.deadlines.last_at(from_unix(at(now)))
    return found.text, None if slot is None else slot.run_after.isoformat()


@pytest.mark.parametrize(
    ("text", "now", "told", "newest"),
    [
        ("expect: {by: 08:00}", "2025-01-05T07:59", "by 08:00", "2025-01-04T08:00:00+00:00"),
        ("expect: {by: '08:00', every: 1d}", "2025-01-05T08:00", "by 08:00", "2025-01-05T08:00:00+00:00"),
        ("expect: {by: 8:00}\ntimezone: Europe/Berlin", "2025-07-05T12:00", "by 8:00", "2025-07-05T06:00:00+00:00"),
        ("expect: {by: 00:15, every: 1h}", "2025-01-05T08:20", "by 00:15 every 1h", "2025-01-05T08:15:00+00:00"),
        ("start: 2025-01-06\nexpect: {by: 8:00, every: 1w}", "2025-01-14", "by 8:00 every 1w",
         "2025-01-13T08:00:00+00:00"),
        ("expect: {by: 08:00}\nstart: 2025-01-06", "2025-01-06T07:00", "by 08:00", None),
        ("expect: {by: '0 8 * * MON'}", "2025-01-15", "by 0 8 * * MON", "2025-01-13T08:00:00+00:00"),
    ],
)  # fmt: skip
def test_deadlines(text, now, told, newest):
    assert deadlines(text, now) == (told, newest)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("expect: {by: noonish}", "4:14: 'by' of 'expect' is 'noonish'; expected a time of day such as 08:00"),
        ("expect: {by: 25:00}", "4:14: 'by' of 'expect' is '25:00'; expected a time of day"),
        ("expect: {by: '@daily', every: 1d}", "4:24: 'every' of 'expect' needs a time of day in 'by'"),
        ("expect: {by: 08:00, every: 0d}", "4:28: 'every' of 'expect' is '0d'; expected a positive duration"),
        ("expect: {by: 08:00, every: 1d6h}", "4:28: 'every' of 'expect' is '1d6h'; expected a positive duration"),
        ("expect: {by: 08:00, every: 1w}", "4:28: 'every: 1w' counts from the asset's 'start', which is missing"),
        ("expect: {every: 1d}", "4:9: missing key 'by' in 'expect'"),
        ("expect: 08:00", "4:9: 'expect' is '08:00'; expected {by: \"08:00\"}"),
        ("notify: {on: late}", "4:9: 'notify' has no recipient"),
        ("notify: {to: X, on: lat}", "4:21: 'on' in 'notify' is 'lat'; expected failure, withheld, waiting"),
        ("notify: {to: X, template: '{{ assets }}'}", "4:31: unknown name 'assets' in a message template;"),
        ("notify: {to: X, title: '{% for %}'}", "4:24: invalid Jinja template: line 1: "),
        ("notify: {python: 'jobs.alerts:page'}", "4:19: the package 'jobs' is not allowed"),
        ("notify: [{to: X}, {too: Y}]", "4:20: unknown key 'too' in item 2 of 'notify'"),
    ],
)  # fmt: skip
def test_refused(text, said):
    assert errors_of(f"{SOURCE}{text}\n").startswith(f"a.yml:{said}")


def test_an_outlet_has_those_of_its_multi_asset_and_a_source_and_an_asset_their_own_or_the_projects():
    files = {
        "project.yml": "project: shop\nnotify: {to: [A, B, A], on: late}\n",
        "s.yml": SOURCE,
        "m.yml": "asset: m\noutlets: {x: {sql: SELECT 1}, y: {sql: SELECT 2}}\nschedule: '@daily'\nnotify: {to: C}\n",
        "n.yml": "asset: n\nsql: SELECT 1\nschedule: '@daily'\nnotify: []\n",
    }
    found = {name: asset.notify for name, asset in compiled(files).assets.items()}
    own = (NotifyRule(ALL, ("C",)),)
    assert found == {"a": (NotifyRule(("late",), ("A", "B")),), "m": own, "x": own, "y": own, "n": ()}


URL = "slack://TokenA/TokenB/TokenC"


@pytest.mark.parametrize("written", [URL, "${ALERTS_URL}"])
@pytest.mark.parametrize("more", ["", ", template: '{{ assets }}'"])
def test_a_url_is_refused_and_not_shown(written, more):
    text = errors(
        {"project.yml": f'project: shop\nnotify: {{to: "{written}"{more}}}\n', "a.yml": SOURCE}, {"ALERTS_URL": URL}
    )
    assert text == (
        "project.yml:2:14: 'to' of 'notify' is not a name; expected the environment variable that holds the URL\n  "
        "hint: write 'to: ALERTS_URL', and set ALERTS_URL to the URL"
    )


def test_it_changes_nothing_of_what_is_computed():
    plain = one("asset: a\nschedule: '@daily'\n")
    told = one("asset: a\nschedule: '@daily'\nexpect: {by: 08:00}\nnotify: {to: X}\n")
    assert plain.definition == told.definition
