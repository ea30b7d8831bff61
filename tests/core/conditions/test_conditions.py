import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.conditions import AllOf, AnyOf, TimeLeaf, UpdateLeaf, evaluate_condition, join_all, join_any
from sparkassets.core.conditions.parsing import UnreadableConditionError
from sparkassets.core.conditions.parsing import parse_condition as parse
from sparkassets.core.partitions import NOTHING, PartitionSet
from tests.builders import clock

A, B, C, D = (UpdateLeaf(name) for name in "abcd")
DAILY = TimeLeaf("@daily", clock("@daily"))
SIX = TimeLeaf("'0 6 * * *'", clock("0 6 * * *"))
DATED = TimeLeaf('{"cron": "0 6 * * *", "timezone": "Europe/Berlin"}', clock("0 6 * * *"))


AS_A_MAP = (
    "  hint: a map is {any: [...]}, {all: [...]}, {uri: ...}, {without: a, for: 1d} or a time such as {every: 6h}"
)


def parse_condition(value):
    return parse(value, clock)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", A),
        (" ( a ) ", A),
        ("a & b", AllOf((A, B))),
        ("a&b|c", AnyOf((AllOf((A, B)), C))),
        ("a & (b | c)", AllOf((A, AnyOf((B, C))))),
        ("a | (b | (c))", AnyOf((A, B, C))),
        ("a & a", A),
        (["a", "b", "c"], AllOf((A, B, C))),
        (["a | b", "c"], AllOf((AnyOf((A, B)), C))),
        ({"any": ["a", "b & c"]}, AnyOf((A, AllOf((B, C))))),
        ({"all": [{"any": ["a", "b"]}, ["c", "d"]]}, AllOf((AnyOf((A, B)), C, D))),
        ({"uri": "example_dataset"}, UpdateLeaf("example_dataset", is_uri=True)),
        ("a | (b & x-drop://inbox)", AnyOf((A, AllOf((B, UpdateLeaf("x-drop://inbox", is_uri=True)))))),
        ("S3://Bucket/x", UpdateLeaf("s3://Bucket/x", is_uri=True)),
        ("a & {uri: //host/x}", AllOf((A, UpdateLeaf("//host/x", is_uri=True)))),
        ({"uri": "s3://b/p?x=1&y=(2)"}, UpdateLeaf("s3://b/p?x=1&y=(2)", is_uri=True)),
        ({"any": ["0 6 * * *", "a & b"]}, AnyOf((SIX, AllOf((A, B))))),
        ({"all": ["@daily", "a"]}, AllOf((DAILY, A))),
        (["@daily", {"cron": "0 6 * * *", "timezone": "Europe/Berlin"}], AllOf((DAILY, DATED))),
        ("a & @daily | '0  6 * * *'", AnyOf((AllOf((A, DAILY)), SIX))),
    ],
)
def test_parsing(value, expected):
    assert parse_condition(value) == expected


def leaves():
    names = st.sampled_from("abcd").map(UpdateLeaf)
    uris = st.sampled_from(["s3://b/x", "x-drop://inbox", "plain", "s3://b/(x)?y=1&z=2", "//host/a"])
    return names | uris.map(lambda uri: UpdateLeaf(uri, is_uri=True)) | st.sampled_from([DAILY, SIX, DATED])


conditions = st.recursive(
    leaves(),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(join_all) | st.lists(inner, min_size=1, max_size=3).map(join_any)
    ),
    max_leaves=8,
)


@given(conditions)
def test_text_reads_back(condition):
    if not any("(" in leaf.ref for leaf in condition.leaves()):
        assert parse_condition(condition.text()) == condition


@given(conditions, st.sets(st.sampled_from("abcd")))
def test_sets_of_partitions_agree_with_truth(condition, true):
    span = PartitionSet.span(0, 10)
    by_bool = evaluate_condition(condition, lambda leaf: leaf.text() in true)
    by_sets = evaluate_condition(condition, lambda leaf: span if leaf.text() in true else NOTHING)
    assert bool(by_sets.value) == by_bool.value


def test_a_verdict_keeps_its_reasons():
    verdict = evaluate_condition(
        parse_condition("a & (b | c)"), {A: PartitionSet.span(0, 9), B: PartitionSet.span(5, 20), C: NOTHING}.get
    )
    assert verdict.value == PartitionSet.span(5, 9)
    assert [(child.node.text(), child.value) for child in verdict.children] == [
        ("a", PartitionSet.span(0, 9)),
        ("b | c", PartitionSet.span(5, 20)),
    ]
    assert [child.node for child in verdict.children[1].children] == [B, C]


def test_only_what_made_it_true_is_used():
    verdict = evaluate_condition(
        parse_condition("a | (b & @daily) | (c & d)"), lambda leaf: leaf.text() in ("a", "c", "b")
    )
    assert list(verdict.used_leaves()) == [A]
    verdict = evaluate_condition(parse_condition("a | (b & @daily)"), lambda leaf: leaf.text() in ("@daily", "b"))
    assert list(verdict.used_leaves()) == [B, DAILY]


def test_what_a_leaf_is_void_for_is_used_by_whatever_holds_there():
    truth = {A: PartitionSet.span(0, 9), B: PartitionSet.span(5, 20), C: NOTHING}
    void = {A: NOTHING, B: PartitionSet.span(0, 3), C: PartitionSet.span(2, 12)}
    used = evaluate_condition(parse_condition("a | (b & c)"), truth.get, void.get).used_leaves()
    assert used == {
        A: PartitionSet.span(0, 9),
        B: PartitionSet.from_time_pairs([(0, 3), (5, 12)]),
        C: PartitionSet.span(2, 12),
    }


def test_leaves_in_order():
    assert [leaf.ref for leaf in parse_condition("c | a & (b | d)").leaves()] == ["c", "a", "b", "d"]


@pytest.mark.parametrize(
    ("value", "message", "path", "position", "width"),
    [
        ("", "expected an asset name, a dataset URI or a time at the end of the condition", (), 0, 1),
        ("a &", "expected an asset name, a dataset URI or a time at the end of the condition", (), 3, 1),
        ("a & | b", "expected an asset name, a dataset URI or a time, found '|'", (), 4, 1),
        ("a b", "expected an operator, found 'b'\n  hint: join the two with & or |", (), 2, 1),
        ("a (b)", "expected an operator, found '('\n  hint: join the two with & or |", (), 2, 1),
        ("(a | b", "this parenthesis is not closed", (), 0, 1),
        ("a)", "unmatched ')'", (), 1, 1),
        ("a and b", "unknown operator 'and' in a condition\n  hint: write &", (), 2, 3),
        ("a || b", "unknown operator '||' in a condition\n  hint: write |", (), 2, 2),
        ("a && b", "unknown operator '&&' in a condition\n  hint: write &", (), 2, 2),
        (
            "a & b-c",
            "'b-c' is neither an asset name nor a dataset URI\n  hint: write any other identity as {uri: ...}",
            (),
            4,
            3,
        ),
        (
            "a | 0 6 * * *",
            (
                "'0' is neither an asset name nor a dataset URI\n  hint: "
                "a cron inside a condition stands in quotes: a | '0 6 * * *'; or write {any: [...]}, {all: [...]}"
            ),
            (),
            4,
            1,
        ),
        (
            {"any": ["H H * * *"]},
            (
                "cron 'H H * * *': minute 'H' is not valid; expected 0-59\n  hint: H and R (values chosen by hash "
                "or at random) are not supported"
            ),
            ("any", 0),
            0,
            9,
        ),
        (
            "a & s3://b/*.csv",
            (
                "the dataset URI 's3://b/*.csv' contains '*', as in a glob or a regular expression\n  hint: a URI "
                "identifies a single dataset"
            ),
            (),
            4,
            12,
        ),
        (
            {"any": ["a & b", "0 6 31 2 *"]},
            "cron '0 6 31 2 *' never fires: no year has such a day",
            ("any", 1),
            0,
            10,
        ),
        (
            'a & {"every": }',
            (
                '{"every": } is not a time\n  hint: in the text form a time\'s map is JSON; as an item of {any: '
                "[...]} it is plain YAML"
            ),
            (),
            4,
            11,
        ),
        ([], "expected a list with at least one condition, not an empty list", (), 0, 0),
        ({"any": "a"}, "expected a list with at least one condition, not 'a'", ("any",), 0, 0),
        ({"a": 1, "b": 2}, f"unknown keys in a condition: a, b\n{AS_A_MAP}", (), 0, 0),
        ({}, f"this map is empty\n{AS_A_MAP}", (), 0, 0),
        ({"uri": 3}, "'uri' of a condition is 3; expected text", ("uri",), 0, 0),
        (["a", 3], "a condition cannot be 3; expected asset names joined by & and |, a list or a map", (1,), 0, 0),
        (
            {"uri": "sparkassets://x"},
            "the dataset URI 'sparkassets://x' uses the scheme 'sparkassets', which is reserved",
            ("uri",),
            0,
            15,
        ),
    ],
)
def test_errors_say_where(value, message, path, position, width):
    (error,) = errors_in(value)
    assert (str(error), error.path, error.position, error.width) == (message, path, position, width)
    assert not error.at_key


def errors_in(value):
    with pytest.raises(UnreadableConditionError) as refused:
        parse_condition(value)
    return refused.value.errors


@pytest.mark.parametrize(
    ("value", "message", "path"),
    [
        (
            {"any": ["a"], "all": ["b"]},
            f"'any' and 'all' exclude each other in a condition\n{AS_A_MAP}",
            ("all",),
        ),
        (
            ["a", {"cron": "@daily", "any": ["b"]}],
            f"'cron' and 'any' exclude each other in a condition\n{AS_A_MAP}",
            (1, "any"),
        ),
        (
            {"any": ["a"], "catchup": "all"},
            f"unknown key 'catchup' beside 'any' in a condition\n{AS_A_MAP}",
            ("catchup",),
        ),
        (["a", {"every": "6h", "interval": "1d"}], "'interval' needs 'cron', not 'every'", (1, "interval")),
    ],
)
def test_errors_of_a_key(value, message, path):
    (error,) = errors_in(value)
    assert str(error).startswith(message)
    assert (error.path, error.at_key) == (path, True)


def test_all_that_is_wrong_is_told():
    with pytest.raises(UnreadableConditionError) as refused:
        parse_condition({"any": ["61 6 * * *", "a & '@dailyy' & {uri: sparkassets://x} | b", ["c d", {"every": 6}]]})
    assert [(error.path, re.split("[;\n]", str(error))[0]) for error in refused.value.errors] == [
        (("any", 0), "cron '61 6 * * *': minute '61' is not valid"),
        (("any", 1), "unknown preset '@dailyy'"),
        (("any", 1), "the dataset URI 'sparkassets://x' uses the scheme 'sparkassets', which is reserved"),
        (("any", 2, 0), "expected an operator, found 'd'"),
        (("any", 2, 1, "every"), "'every' of a schedule is 6"),
    ]
    assert refused.value.leaves == [A, B]
    assert str(refused.value) == "\n".join(map(str, refused.value.errors))
