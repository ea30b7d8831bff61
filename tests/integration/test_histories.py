"""`write: {upsert: {history: …}}`: what a table with a history holds, and what is refused."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import HistoryColumns, UpsertWrite
from sparkassets.errors import RunError
from tests.integration.orders import execute, held, order, save, sql, table

pytestmark = pytest.mark.spark

TIMES = HistoryColumns("since", "until", "holds")


class Prices:
    """A history of whatever changes a test gives, run by run."""

    def __init__(self, engine, spark, folder, query, **options):
        self.engine, self.spark = engine, spark
        self.feed = table("feed", folder)
        write = UpsertWrite(("id",), history=TIMES, **options)
        self.asset = table("prices", folder, write=write, strategy=LatestOnly(), **sql(query, "feed"))

    def run(self, *given, **more):
        save(
            self.spark.createDataFrame(list(given), "id int, price int, at int, op string"), self.feed, mode="overwrite"
        )
        run = order(self.asset, self.feed, **more)
        execute(self.engine, run)

    def rows(self):
        frame = held(self.spark, self.asset.storage.path)
        found = frame.select("id", "price", "since", "until", "holds").collect()
        return sorted((tuple(row) for row in found), key=lambda row: row[:3])


HIDDEN = "SELECT id, price, at AS _at, op AS _op FROM {{ inlets.feed }}"


@pytest.mark.deep
def test_late_changes_are_put_where_they_belong_and_deletions_end_a_row(engine, spark, tmp_path):
    prices = Prices(engine, spark, tmp_path, HIDDEN, newest_by=("_at",), delete_when="_op = 'd'")
    prices.run((1, 10, 1, "u"), (1, 30, 5, "u"), (2, 0, 6, "d"))
    assert prices.rows() == [(1, 10, 1, 5, False), (1, 30, 5, None, True)]
    prices.run((1, 20, 3, "u"), (1, 0, 8, "d"), (2, 7, 4, "u"), (1, 30, 5, "u"))
    expected = [(1, 10, 1, 3, False), (1, 20, 3, 5, False), (1, 30, 5, 8, False), (2, 7, 4, 6, False)]
    assert prices.rows() == expected
    version = DeltaTable(prices.asset.storage.path).version()
    prices.run((1, 20, 3, "u"), (1, 0, 8, "d"))
    assert prices.rows() == expected
    last = DeltaTable(prices.asset.storage.path).history(1)[0]
    assert last["version"] == version + 1
    assert int(last["operationMetrics"]["numTargetRowsUpdated"]) == 0
    prices.run((1, 10, 1, "u"), (2, 7, 4, "u"), (2, 0, 6, "d"), rebuilds=True)
    assert prices.rows() == [(1, 10, 1, None, True), (2, 7, 4, 6, False)]


@pytest.mark.deep
def test_a_column_of_the_result_may_tell_the_time(engine, spark, tmp_path):
    query = "SELECT id, price, at AS since, op AS _op FROM {{ inlets.feed }}"
    prices = Prices(engine, spark, tmp_path, query, delete_when="_op = 'd'")
    prices.run((1, 10, 1, "u"))
    prices.run((1, 11, 1, "u"), (1, 20, 2, "u"))
    assert prices.rows() == [(1, 11, 1, 2, False), (1, 20, 2, None, True)]
    with pytest.raises(RunError, match=r"prices: several changes of one key at one instant: id, since is 1, 3"):
        prices.run((1, 30, 3, "u"), (1, 31, 3, "u"))


@pytest.mark.deep
@pytest.mark.parametrize("order_is", ["hidden", "stored", "beside the time"])
def test_the_last_change_of_an_instant_by_the_list_counts_in_whatever_run_it_comes(engine, spark, tmp_path, order_is):
    number = "n" if order_is == "stored" else "_n"
    time = "since" if order_is == "beside the time" else "_at"
    query = f"SELECT id, price, at AS {time}, price AS {number}, op AS _op FROM {{{{ inlets.feed }}}}"  # noqa: S608  a test's own
    newest_by = (number,) if order_is == "beside the time" else (time, number)
    prices = Prices(engine, spark, tmp_path, query, newest_by=newest_by, delete_when="_op = 'd'")
    prices.run((1, 10, 1, "u"), (1, 12, 1, "u"), (1, 11, 1, "d"), (1, 5, 2, "u"), (2, 7, 3, "u"), (2, 8, 3, "d"))
    assert prices.rows() == [(1, 5, 2, None, True), (1, 12, 1, 2, False)]
    prices.run((1, 11, 1, "u"), (1, 4, 2, "d"), (2, 6, 3, "u"))
    assert prices.rows() == [(1, 5, 2, None, True), (1, 12, 1, 2, False)]
    prices.run((1, 13, 1, "d"), (1, 6, 2, "d"), (2, 9, 3, "u"))
    assert prices.rows() == [(2, 9, 3, None, True)]
    prices.run((1, 12, 1, "u"), (1, 7, 2, "u"))
    assert prices.rows() == [(1, 7, 2, None, True), (2, 9, 3, None, True)]


@pytest.mark.deep
def test_a_change_wins_over_a_deletion_that_nothing_orders_however_they_are_cut_into_runs(engine, spark, tmp_path):
    query = "SELECT id, price, at AS since, price % 10 AS n, op AS _op FROM {{ inlets.feed }}"
    changes = (1, 10, 1, "u"), (1, 20, 1, "d")
    for name, runs in (("one", [changes]), ("two", [changes[:1], changes[1:]])):
        prices = Prices(engine, spark, tmp_path / name, query, newest_by=("n",), delete_when="_op = 'd'")
        for run in runs:
            prices.run(*run)
        assert prices.rows() == [(1, 10, 1, None, True)], name


@pytest.mark.parametrize(
    ("query", "options", "expected"),
    [
        (
            "SELECT id, price FROM {{ inlets.feed }}",
            {},
            "prices: 'history' needs the start of each row's validity: the result lacks the column 'since'",
        ),
        (
            "SELECT id, price, at AS since, true AS holds FROM {{ inlets.feed }}",
            {},
            "prices: the result has the column 'holds', which the history adds",
        ),
    ],
)
def test_columns_that_make_no_history_are_refused(engine, spark, tmp_path, query, options, expected):
    prices = Prices(engine, spark, tmp_path, query, **options)
    with pytest.raises(RunError) as error:
        prices.run((1, 10, 1, "u"))
    assert str(error.value).partition("\n")[0] == expected
