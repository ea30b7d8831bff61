"""What people are told of an invocation: each change once, by whichever driver committed it."""

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.entries import ClaimEntry, FailureEntry, SuccessEntry
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.notified import LateEntry
from sparkassets.core.partitions import NOTHING
from sparkassets.core.runs import RunRequest
from sparkassets.core.spec.asset_services import NotifyRule
from sparkassets.core.validations import RuleVerdict
from sparkassets.features.notifications.notices import AssetNotice, NoticeCollector, NotificationMessage, build_messages
from tests.builders import Story, asset, project, source

ALL = ("failure", "withheld", "waiting", "late", "recovery")
RULE = NotifyRule(ALL, ("ALERTS_URL",))


class Told(Story):
    """A journal of several drivers; each hears what it commits itself."""

    def __init__(self, spec):
        self.drivers = {}
        super().__init__(spec)

    def by(self, driver, *entries):
        before = self.state
        start = len(self.entries)
        seq = self.add(*entries)
        follower = self.drivers.setdefault(driver, NoticeCollector())
        follower.commit(self.entries[start:], before=before.assets, after=self.state.assets)
        return seq

    def tried(self, driver, name, key, *, error="", cause="error", held=""):
        partitions = self.project.assets[name].partitioning.parse(key)
        run = f"{name}-{self.state.seq}"
        token = self.by(driver, ClaimEntry(RunRequest(name, "scheduled", partitions), run, 600, driver, "h"))
        if error:
            return self.by(driver, FailureEntry(name, run, token, partitions, cause, error, driver, hint="look"))
        withheld = self.project.assets[name].partitioning.parse(held) if held else NOTHING
        verdict = RuleVerdict("unique", "fail", "withheld", withheld, 9, 3)
        judged = {"withheld": withheld, "verdicts": (verdict,)} if held else {}
        return self.by(driver, SuccessEntry(name, name, run, token, token, partitions, **judged))

    def ends(self, driver):
        """What the driver tells at the end of its invocation."""
        found = self.drivers.pop(driver, NoticeCollector()).notices(self.project)
        return [(each.kind, each.asset, each.partitions, each.text) for each in found]


def make_story():
    return Told(project(source("s"), asset("a", "s", notify=(RULE,)), asset("b", "a", notify=(RULE,), owner="ann")))


def test_a_failure_is_told_once_for_as_long_as_it_lasts_and_then_that_it_is_over():
    story = make_story()
    story.tried("one", "a", "2025-01-01..2025-01-02", error="no port 53422")
    assert story.ends("one") == [("failure", "a", "2025-01-01..2025-01-02", "no port 53422")]
    story.tried("two", "a", "2025-01-01..2025-01-03", error="no port 41")
    assert story.ends("two") == [("failure", "a", "2025-01-03", "no port 41")]
    story.tried("three", "a", "2025-01-01..2025-01-03", error="another")
    assert story.ends("three") == [("failure", "a", "2025-01-01..2025-01-03", "another")]
    story.tried("four", "a", "2025-01-02")
    assert story.ends("four") == [("recovery", "a", "2025-01-02", "computed again")]
    story.tried("five", "a", "2025-01-01")
    story.tried("five", "a", "2025-01-03")
    assert story.ends("five") == [("recovery", "a", "2025-01-01, 2025-01-03", "computed again")]


def test_what_is_withheld_is_told_once_and_that_it_is_published():
    story = make_story()
    story.tried("one", "a", "2025-01-01..2025-01-03", held="2025-01-02")
    ((kind, name, key, text),) = story.ends("one")
    assert (kind, name, key, "unique" in text) == ("withheld", "a", "2025-01-02", True)
    story.tried("two", "a", "2025-01-02..2025-01-03", held="2025-01-02..2025-01-03")
    assert [each[:3] for each in story.ends("two")] == [("withheld", "a", "2025-01-03")]
    story.tried("three", "a", "2025-01-02", error="boom")
    story.tried("three", "a", "2025-01-03")
    assert [each[:3] for each in story.ends("three")] == [
        ("failure", "a", "2025-01-02"),
        ("recovery", "a", "2025-01-03"),
    ]


def test_what_is_made_good_within_an_invocation_or_was_not_tried_is_no_news():
    story = make_story()
    story.tried("one", "a", "2025-01-01", error="boom")
    story.tried("one", "a", "2025-01-01")
    story.tried("one", "b", "2025-01-01", error="interrupted", cause="cancelled")
    assert story.ends("one") == []


def test_what_another_driver_did_in_between_it_tells_itself():
    story = make_story()
    story.tried("one", "a", "2025-01-01")
    story.tried("two", "a", "2025-01-02", error="boom")
    story.tried("one", "a", "2025-01-02")
    assert (story.ends("two"), story.ends("one")) == (
        [("failure", "a", "2025-01-02", "boom")],
        [("recovery", "a", "2025-01-02", "computed again")],
    )


def test_what_a_person_does_is_told_nobody():
    story = make_story()
    story.tried("one", "a", "2025-01-01", error="boom")
    story.ends("one")
    partitions = story.project.assets["a"].partitioning.parse("2025-01-01")
    story.by("ann", MarkEntry("a", "a", "done", partitions, "fine", "ann"))
    assert not story.drivers["ann"].is_run
    assert story.ends("ann") == []


STEPS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(1, 4), st.integers(0, 3), st.sampled_from(["", "boom", "bang"])),
    max_size=14,
)


@given(st.lists(STEPS, max_size=5))
def test_failures_and_recoveries_of_a_partition_take_turns_and_the_last_is_how_it_is(invocations):
    told, known = make_story(), {}
    for number, steps in enumerate(invocations):
        for name, day, more, error in steps:
            told.tried(f"d{number}", name, f"2025-01-{day:02}..2025-01-{day + more:02}", error=error)
        following = told.drivers.pop(f"d{number}", NoticeCollector())
        for notice in following.notices(told.project):
            parse = told.project.assets[notice.asset].partitioning
            for span in notice.partitions.split(", "):
                for key in parse.keys(parse.parse(span)):
                    if notice.kind == "failure":
                        assert known.get((notice.asset, key)) != notice.text
                        known[notice.asset, key] = notice.text
                    else:
                        assert known.pop((notice.asset, key))
    failed = {
        (name, key): item.error
        for name, state in told.state.assets.items()
        for item in state.failed
        for key in told.project.assets[name].partitioning.keys(item.partitions)
    }
    assert known == failed


# --------------------------------------------------------------------------- messages

FAILED = AssetNotice("failure", "a", "2025-01-01", "boom", "look", "a-1")
LATE = AssetNotice("late", "b", "2025-01-02", "expected by 2025-01-03T08:00Z", owner="ann")


def of(notices, *rules, **more):
    spec = project(source("s"), asset("a", "s", notify=rules, **more), asset("b", "a", notify=rules))
    return [(rule.to, message) for rule, message in build_messages(notices, spec)]


def test_one_message_for_all_with_the_worst_first():
    ((to, message),) = of([LATE, FAILED], RULE)
    assert to == ("ALERTS_URL",)
    assert message == NotificationMessage(
        "test",
        "test: 1 asset failed and 1 asset late",
        "failed: a 2025-01-01: boom\n  hint: look\n  run: a-1\nlate: b 2025-01-02: expected by 2025-01-03T08:00Z",
        (LATE, FAILED),
    )
    assert message.severity == "failure"


def test_each_hears_what_it_asks_for_and_rules_that_differ_in_that_alone_are_one():
    late, failures = NotifyRule(("late",), ("X",)), NotifyRule(("failure",), ("X",))
    other = NotifyRule(("failure", "late"), ("Y",), template="{{ failures | length }}")
    found = of([FAILED, LATE], late, failures, other)
    assert [(to, message.text.splitlines()[0]) for to, message in found] == [
        (("X",), "failed: a 2025-01-01: boom"),
        (("Y",), "1"),
    ]
    assert [(to, len(message.notices)) for to, message in of([FAILED], late)] == []


def test_a_template_has_what_there_is_to_tell():
    rule = NotifyRule(
        ALL,
        ("X",),
        title="[{{ project }}]\n{{ notices | length }}",
        template="{{ title }}{% for each in late %} {{ each.owner }}: {{ each.asset }} {{ each.text }}{% endfor %}",
    )
    ((_, message),) = of([FAILED, LATE], rule)
    assert (message.title, message.text) == ("[test] 2", "[test]\n2 ann: b expected by 2025-01-03T08:00Z")


def test_a_template_that_fails_is_told_and_people_are_told_all_the_same():
    ((_, message),) = of([FAILED], NotifyRule(ALL, ("X",), template="{{ failures[3].asset }}"))
    assert message.text.startswith("failed: a 2025-01-01: boom")
    assert message.problem.startswith("the template of 'notify' failed: UndefinedError: index 3 is out of range")


def test_of_many_there_is_the_number():
    many = [AssetNotice("late", "a", f"k{number}", "x") for number in range(30)]
    ((_, message),) = of(many, RULE)
    assert message.text.splitlines()[-2:] == ["late: a k19: x", "and 10 more late"]


def test_a_lateness_that_ends_in_the_invocation_in_which_it_began_is_told_as_it_is():
    story = make_story()
    story.by("one", LateEntry("a", 86_400))
    assert story.ends("one") == []  # nobody expects it any more
