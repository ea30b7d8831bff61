"""Messages that reach people: one an invocation, at a receiver of this host; and what becomes of dead ones."""

import logging
import time
import warnings
from datetime import timedelta

import pytest

from sparkassets.core.spec.asset_services import DeadlineSpec, NotifyRule, RunBudget
from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.core.timetables.parse import parse_timetable
from sparkassets.errors import FileLocation, InputError
from sparkassets.features.notifications.notification_sink import NotificationSink
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.features.receiver import receiving
from tests.runtime.fakes import World
from tests.runtime.listeners import gone

ALL = ("failure", "withheld", "waiting", "late", "recovery")
RULE = NotifyRule(ALL, ("ALERTS_URL",))


@pytest.fixture
def receiver():
    with receiving() as found:
        yield found


def world(env, *rules, names="abc", **more):
    assets = [asset(name, "s", retries=0, notify=rules or (RULE,)) for name in names]
    return World(project(source("s"), *assets, **more), MemoryStore(), sinks=(NotificationSink(env),))


def drive(world):
    """What the invocation ended with, and what it noted."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("ignore")  # of what Apprise imports
        warnings.simplefilter("always", RuntimeWarning)
        summary = world.opened().run(check=False)
    return summary, [str(each.message) for each in noted]


def broken(*_):
    raise ValueError("no such day at https://u:hunter2@h/x")


def fail(world, *names):
    for name in "abc":
        world.engine.hooks.pop((name, "compute"), None)
    world.engine.hooks |= {(name, "compute"): broken for name in names}


def test_an_invocation_with_many_failures_is_one_message_and_so_is_its_recovery(receiver):
    w = world({"ALERTS_URL": receiver.url})
    w.tell("s", "2025-01-01..2025-01-03")
    fail(w, "a", "b")
    summary, noted = drive(w)
    assert (summary.ok, noted) == (False, [])
    ((title, lines),) = receiver.received
    assert title == "test: 2 assets failed"
    assert [line for line in lines if "run:" not in line] == [
        "failed: a 2025-01-01..2025-01-03: no such day at https://u:***@h/x",
        "failed: b 2025-01-01..2025-01-03: no such day at https://u:***@h/x",
    ]
    assert receiver.messages[0]["type"] == "failure"

    assert drive(w)[1] == []  # it fails as before: nobody is told again
    assert len(receiver.messages) == 1

    fail(w)
    assert drive(w)[0].ok
    assert receiver.received[1] == (
        "test: 2 assets recovered",
        [f"recovered: {name} 2025-01-01..2025-01-03: computed again" for name in "ab"],
    )


def test_what_runs_well_or_what_a_person_does_is_no_message(receiver):
    w = world({"ALERTS_URL": receiver.url})
    w.tell("s", "2025-01-01")
    assert drive(w)[1] == []
    assert receiver.messages == []
    fail(w, "a")
    w.tell("s", "2025-01-02")
    drive(w)
    count = len(receiver.messages)
    assert count == 1
    w.opened().assets.mark("a", "done", "2025-01-02", reason="fine")
    assert len(receiver.messages) == count


def test_what_is_late_is_told_once_by_whoever_looks_first(receiver):
    deadlines = DeadlineSpec(parse_timetable({"at": "0 8 * * *"}, timezone="UTC"), "by 08:00")
    spec = project(source("s", deadlines=deadlines, notify=(RULE,)), asset("a", "s"))
    w = World(spec, MemoryStore(), sinks=(NotificationSink({"ALERTS_URL": receiver.url}),))
    for _ in range(3):
        summary, noted = drive(w)
        assert ([each.asset for each in summary.late], noted) == (["s"], [])
    ((title, _),) = receiver.received
    assert title == "test: 1 asset late"


def test_a_wait_for_a_person_is_told_once_and_once_more_when_it_is_over(receiver):
    spec = project(source("s"), asset("a", "s", notify=(RULE,), budget=RunBudget(bytes=10)), asset("b", "a"))
    w = World(spec, MemoryStore(), sinks=(NotificationSink({"ALERTS_URL": receiver.url}),))
    w.volumes.bytes["s"] = 12
    w.tell("s", "2025-01-01")
    for _ in range(3):
        assert drive(w)[1] == []
    w.volumes.bytes["s"] = 1
    assert [run.asset for run in drive(w)[0].runs] == ["a", "b"]
    assert receiver.received == [
        (
            "test: 1 asset waiting for a person",
            ["waiting for a person: a: over budget: reads 12 B, budget 10 B; --over-budget runs it anyway"],
        ),
        ("test: 1 asset recovered", ["recovered: a: no longer waits for a person"]),
    ]


def test_a_wait_for_a_person_is_told_after_a_silence_and_not_of_what_is_paused(receiver):
    spec = project(source("s"), asset("a", "s", notify=(RULE,), budget=RunBudget(bytes=10)))
    w = World(spec, MemoryStore(), sinks=(NotificationSink({"ALERTS_URL": receiver.url}),))
    w.volumes.bytes["s"] = 12
    w.tell("s", "2025-01-01")
    w.opened().notifications.silence("a", until=w.clock.now() + timedelta(hours=1), reason="we know")
    drive(w)
    assert receiver.received == []
    w.clock.instant += timedelta(hours=2)
    drive(w)
    w.opened().assets.pause("a")
    drive(w)
    assert [title for title, _ in receiver.received] == ["test: 1 asset waiting for a person"]


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, "ALERTS_URL: the variable is not set"),
        ({"ALERTS_URL": "  "}, "ALERTS_URL: the variable is not set"),
        ({"ALERTS_URL_FILE": "/no/such/file"}, "ALERTS_URL: the variable is not set"),
        ({"ALERTS_URL": "gibberish:T0KEN-0f"}, "ALERTS_URL: it does not contain a URL that Apprise supports"),
        ({"ALERTS_URL": "json://127.0.0.1:9/T0KEN-0f"}, "ALERTS_URL: the receiver rejected it"),
    ],
)
def test_a_dead_receiver_is_one_line_without_its_url_and_changes_nothing(env, said, caplog):
    caplog.set_level(logging.DEBUG)
    w = world(env)
    w.tell("s", "2025-01-01")
    fail(w, "a")
    summary, (noted,) = drive(w)
    assert [(run.asset, run.status) for run in summary.runs if run.status == "failed"] == [("a", "failed")]
    assert noted == (
        f"the sink NotificationSink raised NotifyError: some receivers could not be notified: {said}; runs "
        "continue, and later commits are still sent to it"
    )
    assert "T0KEN" not in caplog.text
    assert all("T0KEN" not in str(row) for row in w.store.read_history())


def test_one_that_refuses_and_one_that_takes_seconds_hold_up_nobody(receiver, monkeypatch):
    monkeypatch.setattr("sparkassets.features.notifications.delivery.SEND_SECONDS", 2.0)
    with receiving() as slow, receiving() as refusing:
        slow.held.clear()
        refusing.status = 500
        w = world({"GOOD": receiver.url, "BAD": f"{refusing.url} {slow.url}"}, NotifyRule(ALL, ("BAD", "GOOD")))
        w.tell("s", "2025-01-01")
        fail(w, "a")
        began = time.monotonic()
        _, (noted,) = drive(w)
        assert time.monotonic() - began < 20
        assert "BAD: the receiver rejected it; BAD, URL 2: no answer within 2 s" in noted
        assert len(receiver.messages) == 1


def test_the_url_may_stand_in_a_file_that_a_secret_is_mounted_at(receiver, tmp_path):
    file = tmp_path / "secret"
    file.write_text(f"{receiver.url}\n", encoding="utf-8")
    w = world({"ALERTS_URL_FILE": str(file)})
    w.tell("s", "2025-01-01")
    fail(w, "a")
    assert drive(w)[1] == []
    assert len(receiver.messages) == 1


def hook(tmp_path, text):
    (tmp_path / "alarms.py").write_text(text, encoding="utf-8")
    return PythonBody("alarms", "page", ("message",), str(tmp_path), FileLocation("alarms.py", 1, 1))


@pytest.fixture
def _without_alarms(monkeypatch):
    import sys

    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.modules.pop("alarms", None)


@pytest.mark.usefixtures("_without_alarms")
def test_a_hook_of_an_allowed_package_is_given_the_message(tmp_path):
    file = str(tmp_path / "told")
    told = "f'{message.title}: {message.notices[0].partitions}'"
    body = hook(tmp_path, f"from pathlib import Path\ndef page(message):\n    Path({file!r}).write_text({told})\n")
    w = world({}, NotifyRule(("failure",), hook=body), python=("alarms",))
    w.tell("s", "2025-01-01")
    fail(w, "a")
    assert drive(w)[1] == []
    assert (tmp_path / "told").read_text() == "test: 1 asset failed: 2025-01-01"


@pytest.mark.usefixtures("_without_alarms")
@pytest.mark.parametrize(
    ("text", "python", "said"),
    [
        ("def page(message):\n    raise SystemExit(3)\n", ("alarms",), "alarms:page: raised SystemExit: 3"),
        ("def other(): pass\n", ("alarms",), "alarms:page: raised AttributeError: module 'alarms' has no"),
        ("def page(message): pass\n", ("jobs",), "alarms:page: the package 'alarms' is not allowed"),
    ],
)
def test_whatever_a_hook_raises_is_one_line(tmp_path, text, python, said):
    w = world({}, NotifyRule(("failure",), hook=hook(tmp_path, text)), python=python)
    w.tell("s", "2025-01-01")
    fail(w, "a")
    summary, (noted,) = drive(w)
    assert said in noted
    assert len(summary.runs) == 3


def test_its_thread_ends_with_the_invocation(receiver):
    w = world({"ALERTS_URL": receiver.url})
    w.tell("s", "2025-01-01")
    drive(w)
    assert gone("sink Notifications")


def test_a_silenced_asset_is_told_once_after_its_silence(receiver):
    w = world({"ALERTS_URL": receiver.url})
    fail(w, "a", "b")
    silence = w.opened().notifications.silence
    assert silence("a", until=w.clock.now() + timedelta(hours=2), reason="moving") == ["a"]
    assert "silenced by " in w.opened().status()["a"].notes[-1]
    w.tell("s", "2025-01-01..2025-01-03")
    drive(w)
    assert receiver.received[0][0] == "test: 1 asset failed"
    assert [line for line in receiver.received[0][1] if line.startswith("failed: a")] == []

    drive(w)
    assert len(receiver.messages) == 1
    w.clock.instant += timedelta(hours=3)
    drive(w)
    assert [line.split(":")[1] for line in receiver.received[1][1] if "failed" in line] == [" a 2025-01-01..2025-01-03"]
    drive(w)
    assert len(receiver.messages) == 2


def test_a_silence_that_is_ended_ends_at_once(receiver):
    w = world({"ALERTS_URL": receiver.url}, names="a")
    fail(w, "a")
    silence = w.opened().notifications.silence
    silence("*", until="2100-01-01", reason="for ever")
    silence("a,s", until=None, reason="no longer")
    assert w.opened().status()["a"].notes == ()
    w.tell("s", "2025-01-01")
    drive(w)
    assert len(receiver.messages) == 1
    for until, reason, message in (("1999-01-01", "x", "has passed"), ("2100-01-01", " ", "needs a reason")):
        with pytest.raises(InputError, match=message):
            silence("a", until=until, reason=reason)


def test_what_is_late_while_it_is_silenced_is_told_afterwards(receiver):
    deadlines = DeadlineSpec(parse_timetable({"at": "0 8 * * *"}, timezone="UTC"), "by 08:00")
    spec = project(source("s", deadlines=deadlines, notify=(RULE,)), asset("a", "s"))
    w = World(spec, MemoryStore(), sinks=(NotificationSink({"ALERTS_URL": receiver.url}),))
    w.opened().notifications.silence("s", until=w.clock.now() + timedelta(hours=2), reason="moving")
    assert [each.asset for each in drive(w)[0].late] == ["s"]
    assert receiver.messages == []
    w.clock.instant += timedelta(hours=3)
    drive(w)
    assert receiver.received[0][0] == "test: 1 asset late"


def test_a_test_reaches_each_receiver_once_and_tells_what_it_answered(receiver, caplog):
    caplog.set_level(logging.DEBUG)
    with receiving() as refusing:
        refusing.status = 401
        env = {"GOOD": receiver.url, "BAD": f"{refusing.url} gibberish:T0KEN-0f"}
        rules = (NotifyRule(ALL, ("GOOD",)), NotifyRule(("late",), ("BAD", "GOOD", "NONE"), template="{{ late }}"))
        w = world(env, *rules)
        answers = w.opened().notifications.test()
    assert [(each.receiver, each.fault) for each in answers] == [
        ("BAD", "the receiver rejected it"),
        ("GOOD", ""),
        ("NONE", "the variable is not set"),
    ]
    ((title, lines),) = receiver.received
    assert title == "[TEST] test: notifications arrive"
    assert "Nothing is wrong" in lines[0]
    assert "T0KEN" not in caplog.text
    assert [each.receiver for each in w.opened().notifications.test("GOOD")] == ["GOOD"]
    with pytest.raises(InputError, match="no `notify` rule has the receiver 'GOD'\n  hint: did you mean 'GOOD'"):
        w.opened().notifications.test("GOD")
    with pytest.raises(InputError, match="no `notify` rule has a receiver"):
        World(project(source("s")), MemoryStore()).opened().notifications.test()
