"""Validations in YAML: the rules that they make, and what is refused where."""

from decimal import Decimal

import pytest

from sparkassets.core.instants import Duration
from sparkassets.core.validations import (
    AcceptedCheck,
    FailureAllowance,
    ForeignKeyCheck,
    FreshnessCheck,
    HasColumnsCheck,
    NotNullCheck,
    PatternCheck,
    RangeCheck,
    RowCountChange,
    RowCountCheck,
    SqlCheck,
    UniqueCheck,
)
from tests.core.spec.in_memory import compiled, errors, errors_of, one

SHOPS = {"shops.yml": "asset: shops\nsource: csv\npath: shops.csv\ncolumns: {id: string, city: string}\n"}
SQL = "SELECT day, id, status, amount, shop FROM {{ inlets.flights }}"
HEAD = "asset: a\npartition: {by: day, column: day}\nvalidations:\n"


def rules(text, **more):
    return one(f"{HEAD}  - {text}\n", sql=SQL, **SHOPS, **more).rules


def refused(text, **more):
    return errors_of(f"{HEAD}  - {text}\n", sql=SQL, **SHOPS, **more)


@pytest.mark.parametrize(
    ("text", "name", "check"),
    [
        ("{not_null: id}", "not_null(id)", NotNullCheck(("id",))),
        ("{not_null: [id, DAY]}", "not_null(id, DAY)", NotNullCheck(("id", "DAY"))),
        ("{unique: [id]}", "unique(id)", UniqueCheck(("id",))),
        ("{unique: id, per: run}", "unique(id)", UniqueCheck(("id",), "run")),
        ("{accepted: {status: [open, 1, true]}}", "accepted(status)", AcceptedCheck("status", ("open", 1, True))),
        ("{range: {amount: {min: 0, max: 9.5}}}", "range(amount)", RangeCheck("amount", 0, 9.5)),
        ("{range: {day: {min: 2025-01-01}}}", "range(day)", RangeCheck("day", "2025-01-01")),
        ("{pattern: {id: '[a-z]+'}}", "pattern(id)", PatternCheck("id", "[a-z]+")),
        ("{row_count: {min: 1}}", "row_count(min 1)", RowCountCheck(min=1)),
        (
            "{row_count: {change: -50%..+100%, over: 3}}",
            "row_count(change -50%..+100%)",
            RowCountCheck(change=RowCountChange(Decimal("-0.5"), Decimal(1), 3)),
        ),
        (
            "{row_count: {change: -12.5%..}, per: run}",
            "row_count(change -12.5%..)",
            RowCountCheck(change=RowCountChange(Decimal("-0.125"), None), scope="run"),
        ),
        ("{freshness: {day: 36h}}", "freshness(day)", FreshnessCheck("day", Duration(seconds=36 * 3600))),
        ("{foreign_key: {shop: shops.id}}", "foreign_key(shop in shops)", ForeignKeyCheck(("shop",), "shops", ("id",))),
        (
            "{foreign_key: {columns: [shop, status], asset: shops, to: [id, city]}}",
            "foreign_key(shop, status in shops)",
            ForeignKeyCheck(("shop", "status"), "shops", ("id", "city")),
        ),
        ("{sql: amount > 0}", "sql(amount > 0)", SqlCheck("amount > 0")),
        ("{sql: sum(amount) > 0, per: partition}", "sql(sum(amount) > 0)", SqlCheck("sum(amount) > 0", "partition")),
        ("{has_columns: [id]}", "has_columns(id)", HasColumnsCheck((("id", ""),))),
        (
            "{has_columns: {id: bigint, shop: }}",
            "has_columns(id, shop)",
            HasColumnsCheck((("id", "bigint"), ("shop", ""))),
        ),
    ],
)
def test_a_check(text, name, check):
    (rule,) = rules(text)
    assert (rule.name, rule.check, rule.severity, rule.allow, rule.where) == (name, check, "fail", None, "")
    assert str(rule.place) == "a.yml:4:5"


def test_options_of_a_rule():
    (rule,) = rules("{not_null: id, name: ids, severity: drop, allow: 0.1%, where: \"status = 'new'\"}")
    assert (rule.name, rule.severity, rule.allow) == ("ids", "drop", FailureAllowance(Decimal("0.001")))
    assert rule.where == "status = 'new'"
    assert rules("{not_null: id, allow: 3}")[0].allow == FailureAllowance(rows=3)


def test_several_columns_are_a_rule_each():
    assert [each.name for each in rules("{accepted: {status: [a], shop: [b]}}")] == [
        "accepted(status)",
        "accepted(shop)",
    ]


def test_a_long_condition_makes_a_short_name():
    (rule,) = rules(f"{{sql: {' AND '.join(['amount > 0'] * 9)}}}")
    assert len(rule.name) == len("sql()") + 60
    assert rule.name.endswith("…)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{unique: [idd]}", "a.yml:4:15: the SELECT of asset 'a' yields no column 'idd'"),
        ("{not_null: [id, id]}", "a.yml:4:21: the column 'id' is listed twice"),
        ("{pattern: {idd: x}}", "a.yml:4:16: the SELECT of asset 'a' yields no column 'idd'"),
        (
            "{unique: id, not_null: id}",
            "a.yml:4:6: a validation has one check, but this one has 'not_null' and 'unique'",
        ),
        (
            "{severity: warn}",
            "a.yml:4:5: the validation has no check; expected 'has_columns', 'row_count', 'not_null', ",
        ),
        ("{nul: id}", "a.yml:4:6: unknown key 'nul' in item 1 of 'validations'"),
        ("{not_nul: id}", "hint: did you mean 'not_null'?"),
        (
            "{not_null: 5}",
            "a.yml:4:16: 'not_null' in item 1 of 'validations' is 5; expected a column, or a list",
        ),
        ("{not_null: []}", "a.yml:4:16: 'not_null' is empty; expected a column"),
        ("{accepted: {status: []}}", "'status' is an empty list: no row would pass"),
        ("{accepted: {status: open}}", "'status' in 'accepted' is 'open'; expected a list of values"),
        (
            "{range: {column: id, max: 19}}",
            "a.yml:4:13: 'range' in item 1 of 'validations' is a map; expected {amount: {mi",
        ),
        ("{accepted: {column: id, values: [1]}}", "is a map; expected {status: [open, closed]}"),
        ("{range: {id: {}}}", "a.yml:4:18: the range of 'id' has no bound; expected 'min' or 'max'"),
        ("{range: {id: {mn: 0}}}", "a.yml:4:19: unknown key 'mn' in 'id'"),
        ("{range: {id: {min: 5, max: 1}}}", "a.yml:4:32: 'max' is 1, below 'min' 5"),
        ("{range: {id: {min: 5, max: a}}}", "'max' 'a' and 'min' 5 are of different kinds"),
        ("{range: {id: {min: true}}}", "'min' is true; expected a number, a date or a time"),
        ("{row_count: {}}", "'row_count' has no bound; expected 'min', 'max' or 'change'"),
        ("{row_count: {min: 2, max: 1}}", "'max' is 1, below 'min' 2"),
        ("{row_count: {min: 2, over: 1}}", "'over' needs 'change', which is missing"),
        ("{row_count: {change: 50%}}", "'change' in 'row_count' is '50%'; expected a range such as -50%..+100%"),
        ("{row_count: {change: ..}}", "'change' has no bound"),
        ("{row_count: {change: 10%..20%}}", "'change' is '10%..20%': an unchanged number of rows would fail"),
        (
            "{row_count: {min: 1}, severity: drop}",
            "'severity' is 'drop', but 'row_count' of a partition does not identify failing rows",
        ),
        ("{row_count: {min: 1}, allow: 1%}", "'allow' is a number of rows, but 'row_count' of a partition does not"),
        ("{not_null: id, allow: 101%}", "'allow' is '101%'; expected at most 100%"),
        (
            "{not_null: id, allow: some}",
            "'allow' in item 1 of 'validations' is 'some'; expected a number of rows",
        ),
        ("{not_null: id, severity: error}", "expected fail, warn, drop or quarantine"),
        ("{not_null: id, per: partition}", "'per' is 'partition', but 'not_null' judges rows"),
        ("{unique: id, per: row}", "'per' is 'row', but 'unique' judges partitions or all rows of a run"),
        ("{has_columns: [id], where: id > 0}", "'where' selects rows, but 'has_columns' checks only columns"),
        ("{has_columns: {id: bigin}}", "a.yml:4:24: 'bigin' is not a Spark SQL type"),
        ("{not_null: id, where: '{{ params.x }}'}", "'where' cannot be a template"),
        (f"{{sql: '{'(' * 1_001}'}}", "'sql' nests more than 1,000 brackets"),
        (f"{{not_null: id, where: '{'(' * 1_001}'}}", "'where' nests more than 1,000 brackets"),
        ("{sql: ' '}", "'sql' is empty"),
        ("{freshness: {day: soon}}", "'day' in 'freshness' is 'soon'; expected a number with its unit"),
        ("{freshness: {day: -1d}}", "'day' is '-1d'; expected a positive duration"),
        ("{foreign_key: {shop: shops}}", "'shop' is 'shops'; expected <asset>.<column>"),
        ("{foreign_key: {shop: shop.id}}", "a.yml:4:26: unknown asset 'shop'\n"),
        ("{foreign_key: {shop: shops.idd}}", "a.yml:4:26: asset 'shops' declares no column 'idd'"),
        ("{foreign_key: {shop: a.id}}", "a foreign key of asset 'a' cannot refer to its own output 'a'"),
        ("{foreign_key: {columns: [shop], asset: shops, to: [id, city]}}", "'to' has 2 columns, but 'columns' has 1"),
        (
            "{python: jobs.checks:fine}",
            "the package 'jobs' is not allowed: it is not listed under 'python' in the project file",
        ),
        ("{accepted: {status: [a], shop: [b]}, name: x}", "'name' names one rule, but 'accepted' has 2 columns"),
        ("not_null", "item 1 of 'validations' is 'not_null'; expected a map such as {not_null: [id]}"),
    ],
)
def test_what_is_refused(text, expected):
    assert expected in refused(text)


def test_two_rules_of_one_name():
    text = f"{HEAD}  - {{not_null: id}}\n  - {{not_null: [id], severity: warn}}\n"
    assert errors_of(text, sql=SQL).startswith(
        "a.yml:5:5: two validations are called 'not_null(id)'; the first is in line 4\n"
    )


def test_nothing_is_asked_of_what_others_write():
    text = "asset: raw\nsource: csv\npath: raw.csv\nvalidations: [{not_null: id}]\n"
    assert errors({"raw.yml": text}).startswith(
        "raw.yml:4:1: a source cannot have validations: others write it, so its rows cannot be withheld\n"
    )


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{row_count: {min: -1}}", "'min' in 'row_count' is -1"),
        ("{row_count: {change: 50%}}", "'change' in 'row_count' is '50%'"),
        ("{accepted: {status: open}}", "'status' in 'accepted' is 'open'; expected a list"),
        ("{freshness: {day: 2}}", "'day' in 'freshness' is 2"),
    ],
)
def test_a_value_that_is_wrong_is_one_problem(rule, message):
    said = refused(rule)
    assert message in said
    assert said.count("a.yml:") == 1


# --------------------------------------------------------------------------- inlets and outlets


def test_an_inlet_is_judged_as_one():
    text = "asset: a\ninlets: {shops: {validations: [{row_count: {min: 1}}, {unique: id, severity: warn}]}}\n"
    asset = one(text, sql="SELECT * FROM {{ inlets.shops }}", **SHOPS)
    assert [(each.check, each.severity) for each in asset.inlets["shops"].rules] == [
        (RowCountCheck(min=1, scope="run"), "fail"),
        (UniqueCheck(("id",), "run"), "warn"),
    ]
    assert asset.rules == ()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("{not_null: idd}", "asset 'shops' declares no column 'idd'"),
        (
            "{not_null: id, severity: drop}",
            "'severity' is 'drop', but the rows of an inlet cannot be removed",
        ),
        ("{unique: id, per: partition}", "'per' is 'partition', but the rows of an inlet are judged as a whole"),
        (
            "{row_count: {change: -5%..}}",
            "'change' is not available for inlets: their earlier row counts are not recorded",
        ),
    ],
)
def test_what_is_refused_of_an_inlet(rule, expected):
    text = f"asset: a\ninlets: {{shops: {{validations: [{rule}]}}}}\n"
    assert expected in errors_of(text, sql="SELECT * FROM {{ inlets.shops }}", **SHOPS)


def test_an_inlet_that_is_not_read_is_not_judged():
    text = "asset: a\ninlets: {shops: {validations: [{not_null: id}]}}\n"
    assert "the options of 'shops' have no effect: the code does not read it" in errors_of(text, **SHOPS)


def test_each_outlet_has_its_own():
    split = (
        "asset: split\noutlets:\n  train: {sql: SELECT 1 AS id, validations: [{unique: id}]}\n"
        "  test: {sql: SELECT 1 AS id}\n"
    )
    assets = compiled({"split.yml": split}).assets
    assert [each.name for each in assets["train"].rules] == ["unique(id)"]
    assert assets["test"].rules == assets["split"].rules == ()
    beside = errors({"split.yml": f"{split}validations: [{{unique: id}}]\n"})
    assert "'validations' is not allowed beside 'outlets': each outlet has its own" in beside
    wrong = errors({"split.yml": split.replace("unique: id", "unique: idd")})
    assert wrong.startswith("split.yml:3:55: the SELECT of asset 'train' yields no column 'idd'")


# --------------------------------------------------------------------------- foreign keys


def test_the_asset_of_a_foreign_key_is_an_inlet_that_makes_nothing_stale():
    inlets = one(f"{HEAD}  - {{foreign_key: {{shop: shops.id}}}}\n", sql=SQL, **SHOPS).inlets
    assert list(inlets) == ["flights", "shops"]
    assert (inlets["shops"].on_update, inlets["shops"].waits_only) == ("ignore", False)
    assert str(inlets["shops"].location) == "a.yml:4:26"


def test_of_one_with_partitions_all_of_it_is_read():
    days = {"days.yml": "asset: days\nsource: csv\npath: days/{day}.csv\npartition: {by: day, column: day}\n"}
    inlet = one(f"{HEAD}  - {{foreign_key: {{day: days.day}}}}\n", sql=SQL, **days).inlets["days"]
    assert (type(inlet.mapping).__name__, inlet.require.kind) == ("WholeMapping", "any")


def test_what_is_an_inlet_anyway_stays_as_it_is():
    text = f"{HEAD}  - {{foreign_key: {{shop: shops.id}}}}\ninlets: {{shops: {{on_update: rerun, require: any}}}}\n"
    inlet = one(text, sql=SQL, **SHOPS).inlets["shops"]
    assert (inlet.on_update, inlet.waits_only) == ("rerun", False)


def test_what_foreign_keys_alone_read_is_no_reason_to_run():
    text = "asset: a\nvalidations: [{foreign_key: {shop: shops.id}}]\n"
    asset = one(text, sql="SELECT 1 AS shop", **SHOPS)
    assert (list(asset.inlets), asset.schedule.text) == (["shops"], "manual")


def test_of_a_multi_asset_the_run_reads_it():
    split = (
        "asset: split\noutlets:\n"
        "  train: {sql: SELECT 1 AS shop, validations: [{foreign_key: {shop: shops.id}}]}\n"
        "  test: {sql: SELECT 1 AS id}\n"
    )
    assets = compiled({"split.yml": split, **SHOPS}).assets
    assert list(assets["split"].inlets) == ["shops"]


# --------------------------------------------------------------------------- what is told by them


def definition(rule):
    return one(f"{HEAD}  - {rule}\n", sql=SQL).definition


def test_only_rules_that_take_rows_away_are_code():
    plain = one("asset: a\npartition: {by: day, column: day}\n", sql=SQL).definition
    assert definition("{not_null: id}") == definition("{not_null: id, severity: warn}") == plain
    dropped = definition("{not_null: id, severity: drop}")
    assert dropped.id != plain.id
    assert dropped.parts == {"validations.1": '{"not_null": "id", "severity": "drop"}'}


def test_what_is_withheld_is_tried_again_by_other_rules():
    def judged(rule):
        return one(f"{HEAD}  - {rule}\n", sql=SQL).judge_digest

    assert judged("{not_null: id}") == judged("{not_null: [id]}")
    assert judged("{not_null: id}") != judged("{not_null: id, allow: 1}")
    assert len({judged(f"{{row_count: {{change: -5%..}}, per: {per}}}") for per in ("partition", "run")}) == 2


def test_columns_that_are_not_shown():
    asset = one("asset: a\ncolumns: {id: bigint, email: {type: string, pii: true}}\n", sql="SELECT 1 AS id, 2 AS email")
    assert (dict(asset.columns), asset.private) == ({"id": "bigint", "email": "string"}, {"email"})
    wrong = errors_of("asset: a\ncolumns: {email: {type: strin, pii: true}}\n")
    assert wrong.startswith("a.yml:2:25: 'strin' is not a Spark SQL type")
    unknown = errors_of("asset: a\ncolumns: {email: {type: string, pi: true}}\n")
    assert unknown.startswith("a.yml:2:33: unknown key 'pi' in 'email'")


INSTANCES = "asset: a\nstrategy: every_instance\nwrite: append\nschedule: flights\nvalidations:\n"


@pytest.mark.parametrize(
    "text",
    ["{not_null: id}", "{not_null: id, severity: warn}", "{not_null: id, severity: drop, allow: 1}"],
)
def test_instances_without_partitions_have_rules_too(text):
    (rule,) = one(f"{INSTANCES}  - {text}\n", sql=SQL, **SHOPS).rules
    assert rule.name == "not_null(id)"


# --------------------------------------------------------------------------- rows that are shown


def test_no_row_is_shown_unless_somebody_asks():
    assert [rule.samples for rule in rules("{not_null: [id, shop]}")] == [0]
    assert [rule.samples for rule in rules("{unique: [id], samples: 3}")] == [3]


def test_how_many_are_shown_changes_neither_what_comes_out_nor_what_is_tried_again():
    few, more = (one(f"{HEAD}  - {{not_null: id, severity: drop, samples: {n}}}\n", sql=SQL) for n in (1, 5))
    assert few.definition == more.definition
    assert few.judge_digest == more.judge_digest


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{not_null: id, samples: 6}", "expected a whole number from 0 to 5"),
        (
            "{row_count: {min: 1}, samples: 1}",
            "'samples' shows failing rows, but 'row_count' of a partition does not identify any",
        ),
    ],
)
def test_samples_are_few_and_of_rows(text, told):
    assert told in refused(text)
