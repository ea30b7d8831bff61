"""Digests: one message a period, by one driver, and none lost with a driver that is killed."""

from datetime import timedelta

import pytest

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.digest_marks import DigestEntry
from sparkassets.core.spec.asset_services import NotifyRule, RunBudget
from sparkassets.core.timetables.parse import parse_timetable
from sparkassets.features.notifications.delivery import MessageDelivery
from sparkassets.features.notifications.digests import DigestSender
from sparkassets.features.notifications.notification_sink import NotificationSink
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.state.delta_store import DeltaStore
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.core.spec.in_memory import FLIGHTS, compiled, errors
from tests.features.notifications.test_notifications import ALL, fail
from tests.features.receiver import receiving
from tests.runtime.fakes import FakeClock, World

DAILY = NotifyRule(ALL, ("ALERTS_URL",), digest=parse_timetable({"at": "0 8 * * *"}, timezone="UTC"))


class Daily:
    """A world whose assets are told of in a digest at 08:00; the clock begins at midnight."""

    def __init__(self, url, *rules, names="ab", **more):
        self.env = {"ALERTS_URL": url}
        assets = [asset(name, "s", retries=0, notify=rules or (DAILY,), **more) for name in names]
        self.world = World(project(source("s"), *assets), MemoryStore(), sinks=(NotificationSink(self.env),))

    def drive(self, hours=0):
        """An invocation of a driver, so many hours later."""
        self.world.clock.instant += timedelta(hours=hours)
        sender = DigestSender(self.world.project, self.env, self.world.clock)
        return self.world.opened(end_invocation=sender.send_due).run(check=False)

    def steps(self):
        return [row.body for row in self.world.store.read_history() if row.kind == "digest"]


@pytest.fixture
def receiver():
    with receiving() as found:
        yield found


def test_a_day_is_one_message_with_what_is_wrong_and_what_no_longer_is(receiver):
    daily = Daily(receiver.url)
    daily.drive()  # the first period begins
    fail(daily.world, "a", "b")
    daily.world.tell("s", "2025-01-01")
    for _ in range(3):
        daily.drive(hours=2)
    fail(daily.world, "b")
    daily.drive(hours=1)
    assert receiver.messages == []
    daily.drive(hours=2)
    ((title, lines),) = receiver.received
    assert title == "test: 1 asset failed and 1 asset recovered"
    assert [line for line in lines if "run:" not in line] == [
        "Since 2025-01-31T08:00Z:",
        "failed: b 2025-01-01: no such day at https://u:***@h/x (5 times)",
        "recovered: a: failed 3 times, and no longer does: no such day at https://u:***@h/x",
    ]
    daily.drive(hours=2)
    assert len(receiver.messages) == 1
    daily.drive(hours=22)  # it still fails
    assert receiver.received[1][1][0] == "Since 2025-02-01T08:00Z:"
    state = daily.world.opened()._context.read_state("test")
    assert decode(encode(state), journal_id=state.journal_id).digests == state.digests != {}


def test_a_wait_for_a_person_is_in_each_digest_until_it_is_over(receiver):
    daily = Daily(receiver.url, names="a", budget=RunBudget(bytes=10))
    daily.world.volumes.bytes["s"] = 12
    daily.world.tell("s", "2025-01-01")
    for hours in (0, 9, 24):
        daily.drive(hours=hours)
    state = daily.world.opened()._context.read_state("test")
    assert decode(encode(state), journal_id=state.journal_id).assets["a"].person_wait
    daily.world.volumes.bytes["s"] = 1
    daily.drive(hours=24)
    waits = "waiting for a person: a: over budget: reads 12 B, budget 10 B; --over-budget runs it anyway"
    over = "recovered: a: no longer waits for a person"
    assert [lines[1:] for _, lines in receiver.received] == [[waits], [waits], [over]]


def test_nothing_to_tell_is_no_message(receiver):
    daily = Daily(receiver.url)
    daily.drive()
    daily.world.tell("s", "2025-01-01")
    for _ in range(3):
        daily.drive(hours=20)
    assert receiver.messages == []


def make_failed_project(receiver):
    """A project whose only asset failed in the first hour of a period."""
    daily = Daily(receiver.url, names="a")
    daily.drive()
    fail(daily.world, "a")
    daily.world.tell("s", "2025-01-01")
    daily.drive(hours=1)
    return daily


def test_no_two_drivers_send_the_same_digest(receiver):
    daily = make_failed_project(receiver)
    send = MessageDelivery.wait

    def meanwhile(delivery):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(MessageDelivery, "wait", send)
            daily.drive()  # another driver, while this one sends
        return send(delivery)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(MessageDelivery, "wait", meanwhile)
        daily.drive(hours=8)
    daily.drive()
    assert len(receiver.messages) == 1


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_digest_of_a_killed_driver_is_sent_by_another_which_says_so(receiver, is_sent):
    daily = make_failed_project(receiver)
    send = MessageDelivery.wait

    def killed(delivery):
        send(delivery)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(MessageDelivery, "wait", killed)
        if not is_sent:
            patched.setattr(MessageDelivery, "send", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            daily.drive(hours=8)
    count = int(is_sent)
    assert len(receiver.messages) == count
    daily.drive()  # at once: the claim may be of a driver that is alive
    assert len(receiver.messages) == count
    daily.drive(hours=1)
    assert (
        receiver.received[count][1][0]
        == "A driver ended while it sent this digest, so you may have received it before."
    )
    daily.drive(hours=1)
    assert len(receiver.messages) == count + 1


def test_a_digest_that_is_refused_is_sent_later_to_that_receiver_alone(receiver):
    with receiving() as refusing:
        refusing.status = 500
        daily = Daily(receiver.url, NotifyRule(ALL, ("ALERTS_URL", "OTHER_URL"), digest=DAILY.digest), names="a")
        daily.env["OTHER_URL"] = refusing.url
        daily.drive()
        fail(daily.world, "a")
        daily.world.tell("s", "2025-01-01")
        with pytest.warns(RuntimeWarning, match="the digest for OTHER_URL: the receiver rejected it"):
            daily.drive(hours=9)
        refusing.status = 200
        refusing.messages.clear()
        daily.drive(hours=1)
        daily.drive(hours=1)
        assert (len(receiver.messages), len(refusing.messages)) == (1, 1)
        assert refusing.received[0][1][0].startswith("Since")


def test_when_a_digest_is_sent():
    yaml = "project: p\ntimezone: Europe/Berlin\nnotify: {to: ALERTS_URL, digest: WHEN}\n"
    files = {"a.yml": "asset: a\nsql: SELECT * FROM {{ inlets.flights }}\n", "flights.yml": FLIGHTS}
    for written, meant in (("'08:30'", "at 30 8 * * *"), ("0 8 * * MON", "at 0 8 * * MON")):
        (rule,) = compiled({**files, "project.yml": yaml.replace("WHEN", written)}).assets["a"].notify
        assert (rule.digest.text, rule.digest.timezone) == (meant, "Europe/Berlin")
    assert errors({**files, "project.yml": yaml.replace("WHEN", "daily")}).startswith(
        "project.yml:3:34: 'digest' of 'notify' is 'daily'; expected a time of day such as 08:00, or a cron"
    )


def test_how_far_a_digest_was_sent_is_in_the_snapshot(tmp_path):
    store = DeltaStore(str(tmp_path / "state"))
    store.create(project="test")
    ledger = JournalLedger(store, project="test", driver="d", clock=FakeClock())
    ledger.open()
    ledger.commit(
        lambda _: [DigestEntry("ALERTS_URL 1", 100, 7, "sent"), DigestEntry("OTHER_URL 1", 200, 8, "claimed")]
    )
    ledger.compact()
    again = JournalLedger(DeltaStore(str(tmp_path / "state")), project="test", driver="d", clock=FakeClock())
    assert again.open() == ledger.state
    assert again.state.digests["OTHER_URL 1"].is_open
