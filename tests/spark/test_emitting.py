"""`context.emit` and yielded extras, as far as they need no Spark."""

from datetime import UTC, datetime

import pytest

from sparkassets.core.journal.announcements import decode_announcement
from sparkassets.core.journal.entries import EventEntry
from sparkassets.core.partitions import NOTHING
from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.errors import FileLocation, RunError
from sparkassets.ports import RunOrder
from sparkassets.spark.context import make_context
from sparkassets.spark.functions import run_function
from tests.builders import asset, days, project, source

PROJECT = project(source("s"), source("side"), asset("a", "s"))


def context():
    item = PROJECT.assets["a"]
    order = RunOrder(item, "a-1", "j/a", 1, NOTHING, {}, {}, None, datetime(2025, 1, 1, tzinfo=UTC), {})
    return make_context(order, watermark=None, project=PROJECT)


def error_of(call, *args, **more):
    with pytest.raises(RunError) as caught:
        call(*args, **more)
    return str(caught.value)


def test_what_is_announced_is_kept_for_the_commit():
    run = context()
    assert run.announced_events == ()
    run.emit("side", "2025-01-01..2025-01-02", {"rows": 3})
    run.emit("s3://lake/elsewhere")
    first, second = (decode_announcement(told, run="a-1", interval=(1, 2)) for told in run.announced_events)
    assert first == EventEntry(
        "x-side", "side", days("2025-01-01..2025-01-02"), {"rows": 3}, run="a-1", interval=(1, 2)
    )
    assert second == EventEntry("s3://lake/elsewhere", run="a-1", interval=(1, 2))
    assert "emit" not in run.names()
    assert not any(name.startswith("_") for name in run.names())


def test_what_cannot_be_announced():
    run = context()
    assert error_of(run.emit, "sidee") == (
        "a: context.emit('sidee'): no asset 'sidee' in project 'test'\n  hint: did you mean 'side'?"
    )
    assert error_of(run.emit, "side", extra={"token": "x"}) == (
        "a: context.emit('side'): the extra token contains a credential in 'token'; events are clear text"
    )
    assert error_of(run.emit, "s") == "a: context.emit('s'): a listens to it, so it would run again and again"
    assert run.announced_events == ()


class Frame:
    schema = write = None


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Calls the function ``f`` of these lines."""
    package = tmp_path / "emitting_tasks"
    package.mkdir()
    (package / "__init__.py").touch()
    body = PythonBody("emitting_tasks.work", "f", ("context", "s"), str(tmp_path), FileLocation("a.yml", 2, 1))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sparkassets.spark.functions.ship_package", lambda *_, **__: None)

    def run(code, told):
        import sys

        (package / "work.py").write_text(code, encoding="utf-8")
        for name in ("emitting_tasks.work", "emitting_tasks"):
            sys.modules.pop(name, None)
        sys.path_importer_cache.clear()
        frame = Frame()
        given = {"allowed": ["emitting_tasks"], "inlets": {"s": frame}, "context": told, "given_up": lambda: False}
        (found,) = run_function(None, body, **given)
        return frame, found

    return run


def test_yielded_dicts_are_extras_and_the_last_rows_are_the_result(call):
    run = context()
    frame, found = call("def f(context, s):\n yield {'rows': 5}\n yield s\n yield {'note': 'ok', 'rows': 6}\n", run)
    assert found is frame
    assert run.extra == {"rows": 6, "note": "ok"}
    frame, found = call("def f(context, s):\n yield {'rows': 5}\n return s\n", context())
    assert found is frame


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "def f(context, s):\n yield 5\n",
            "a.yml:2:1: emitting_tasks.work:f yielded an int; expected a DataFrame, or a dict of extras",
        ),
        (
            "def f(context, s):\n yield {'rows': 5}\n",
            (
                "a.yml:2:1: emitting_tasks.work:f returned nothing; expected a DataFrame of Spark, pandas or "
                "Polars, or an Arrow table"
            ),
        ),
        (
            "def f(context, s):\n yield {'url': 'https://h/x?sig=abc'}\n yield s\n",
            "a.yml:2:1: context.extra: the extra url contains a credential in 'sig'; events are clear text",
        ),
        (
            "def f(context, s):\n context.extra['name'] = b'\\xff'.decode(errors='surrogateescape')\n return s\n",
            (
                "a.yml:2:1: context.extra: the extra contains '\\udcff', half of a surrogate pair, which is not "
                "valid Unicode\n  hint: the text was decoded from invalid bytes; replace the characters that could "
                "not be read"
            ),
        ),
        (
            "def f(context, s):\n deep = []\n for _ in range(5000): deep = [deep]\n yield {'x': deep}\n yield s\n",
            "a.yml:2:1: context.extra: the extra nests more than 100 objects and lists",
        ),
    ],
)
def test_what_may_not_be_yielded(call, code, message):
    assert error_of(call, code, context()) == message


def test_an_error_between_two_yields_has_its_line(call, tmp_path):
    message = error_of(call, "def f(context, s):\n yield {'rows': 5}\n raise ValueError('no')\n", context())
    assert message == f"{tmp_path}/emitting_tasks/work.py:3: ValueError: no"
