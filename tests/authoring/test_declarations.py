"""Decorated functions are functions still; what is said in Python is what YAML would say."""

import pickle
import subprocess
import sys
from datetime import date, timedelta
from enum import StrEnum
from pathlib import PurePosixPath

import pendulum
import pytest

import sparkassets
from sparkassets import Asset, PartitionAtRuntime, PartitionByInterval, asset, get_current_context
from sparkassets.authoring import collect_declarations, set_current_context, to_plain


@asset(at="lake/daily", owner="ann")
def daily(orders, factor=2):
    """Doubles."""
    return orders * factor


@asset
def bare(orders):
    return orders


def test_a_decorated_function_is_called_as_before():
    assert daily(21) == 42
    assert daily(1, factor=7) == 7
    assert (daily.name, daily.__name__, daily.__doc__, daily.__wrapped__(3)) == ("daily", "daily", "Doubles.", 6)
    assert repr(bare).startswith("<asset 'bare': <function bare at ")


def test_a_worker_gets_the_function_alone():
    kept = pickle.loads(pickle.dumps(_unpickled()))  # noqa: S301  our own
    assert kept(21) == 42
    assert type(kept).__module__ == "functools"


def _unpickled():
    return sparkassets.AssetFunction(_double, "double")


def _double(value):
    return 2 * value


def test_conditions():
    orders = Asset("orders")
    said = daily | orders & Asset(uri="x-drop://inbox") & "@daily" | {"every": "6h"}
    parts = ["orders", {"uri": "x-drop://inbox"}, "@daily"]
    assert said.plain() == {"any": ["daily", {"all": parts}, {"every": "6h"}]}
    assert ("a" | orders).plain() == {"any": ["a", "orders"]}
    assert ("@daily" & (orders | bare)).plain() == {"all": ["@daily", {"any": ["orders", "bare"]}]}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Asset("a") or Asset("b"), "a condition is joined by | and &, not by 'or', 'and' or 'not'"),
        (lambda: Asset("a") | 3, "a condition joins assets, texts and timetables; expected one of them, not a int"),
        (lambda: asset(shedule="@daily"), "asset() got the unknown key 'shedule'; did you mean 'schedule'?"),
        (lambda: asset(at="a", path="b"), "asset() got both 'at' and 'path', which set the same key"),
        (lambda: asset("a", name="b"), "asset() got the name twice"),
        (lambda: asset(sql="SELECT 1"), "asset(sql=…) and asset(source=…) need a name: asset('orders', source='csv')"),
        (
            lambda: asset(extra={1: 2}),
            "the key 1 is not allowed in the declaration of an asset; expected text or an asset",
        ),
        (
            lambda: asset(extra={"a": object()}),
            "a object is not allowed in the declaration of an asset; expected plain values",
        ),
        (lambda: asset("a")(3), "@asset must decorate a function, not a int"),
        (lambda: asset("a", outlets=["b"]), "use @multi_asset to declare several outlets"),
        (lambda: asset("a", python="x:y"), "@asset takes no 'python': the asset runs the decorated function"),
        (lambda: sparkassets.multi_asset("a"), "@multi_asset has no 'outlets'; expected their names"),
    ],
)
def test_what_is_refused_when_a_module_is_imported(wrong, message):
    with pytest.raises(TypeError) as error:
        wrong()
    assert str(error.value) == message


def test_an_asset_has_a_name_or_a_uri():
    with pytest.raises(ValueError, match="pass either a name or a uri"):
        Asset()
    assert Asset("a", uri="x-a://b").plain() == "a"


class Grain(StrEnum):
    DAY = "day"


def test_values_as_yaml_has_them():
    assert to_plain(timedelta(hours=2)) == "7200s"
    assert to_plain(date(2025, 1, 31)) == "2025-01-31"
    assert to_plain(PurePosixPath("lake/x")) == "lake/x"
    assert to_plain(PartitionByInterval(Grain.DAY, column="d")) == {"by": "day", "column": "d"}
    assert type(to_plain(Grain.DAY)) is str
    assert to_plain({daily: {"window": "7d"}}) == {"daily": {"window": "7d"}}
    assert to_plain(PartitionAtRuntime()) == {"segments": "runtime"}
    assert to_plain(PartitionAtRuntime(name="customer")) == {"segments": "runtime", "column": "customer"}
    assert to_plain(PartitionAtRuntime(name="active", column="customer")) == {
        "segments": "runtime",
        "column": "customer",
    }
    with pytest.raises(ValueError, match="expected whole seconds"):
        to_plain(timedelta(milliseconds=1))
    with pytest.raises(ValueError, match="months have no fixed length; use days"):
        to_plain(pendulum.duration(months=1))
    assert to_plain(pendulum.duration(weeks=1, hours=2)) == "612000s"
    assert to_plain(pendulum.datetime(2025, 1, 1, tz="Europe/Berlin")) == "2025-01-01T00:00:00+01:00"
    assert to_plain(pendulum.date(2025, 1, 1)) == "2025-01-01"


def test_a_partition_at_runtime_adds_segments_while_a_run_calls_the_function():
    added = []

    class Run:
        def add_partition(self, key, dimension=None):
            added.append((key, dimension))

    customers = PartitionAtRuntime(name="customer")
    with set_current_context(Run()):
        customers.add_partition(key=7)
    assert added == [(7, "customer")]
    with pytest.raises(RuntimeError, match="no current run"):
        customers.add_partition(key=8)


def test_what_is_declared_is_told_to_who_asks():
    with collect_declarations() as found:
        asset("orders", source="csv", at="landing")
        asset("x", owner=None)(_double)
    asset("y", source=True)
    assert [(each.name, each.keys, each.function) for each in found] == [
        ("orders", {"source": "csv", "path": "landing"}, None),
        ("x", {}, _double),
    ]


def test_all_problems_are_collected_while_declarations_are():
    with collect_declarations() as found:
        asset("x", path="a", at="b", columns={1: "int"}, extra={"when": object()}, nothere=1)(_double)
    refused = [key for key, _ in found[0].problems]
    assert (refused, found[0].keys) == (["at", "columns", "extra"], {"path": "a", "nothere": 1})


def test_the_current_context():
    with pytest.raises(RuntimeError, match="no current run"):
        get_current_context()
    with set_current_context("one"):
        with set_current_context("two"):
            assert get_current_context() == "two"
        assert get_current_context() == "one"


def test_an_authors_module_imports_little():
    code = "import sys; from sparkassets import asset, Asset, PartitionByInterval; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"pydantic", "yaml", "pyspark", "pandas", "deltalake"}.isdisjoint(modules)
    assert not any(each.startswith("sparkassets.core") for each in modules)
