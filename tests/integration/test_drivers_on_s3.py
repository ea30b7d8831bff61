"""Drivers whose state and tables are on S3, as processes: stopped, taken over and going on, and two at once where
answers are lost and the store is busy. Nothing is lost, and nothing is there twice.

Without a JVM: rows by pyarrow, staged and committed by the driver's own code. The S3 API is moto's, on loopback.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.crash.plain import SALES
from tests.crash.processes import Server, Started, start
from tests.e2e.projects import stamps, write
from tests.integration.lossy import LOG_ENTRY, Lossy, What, before

pytestmark = pytest.mark.deep

FOLDERS = itertools.count()
AHEAD = 7 * 60
"""Seconds that the clock of the driver that is stopped is ahead."""
POINTS = (
    *("claim:in", "read:done", "write:half", "write:staged"),
    *("commit:ready", "commit:in", "commit:told", "record:staged"),
)
FILES = {
    "project.yml": "project: shop\ndefaults: {retries: 0, lease: 1s}\nstate: LAKE/state\nwarehouse: LAKE/tables\n"
    "assets: [assets/]\n",
    "assets/sales.yml": "asset: sales\nsource: delta\npath: LAKE/sales\npartition: {by: day, column: day}\n"
    "columns: {id: bigint, day: date, shop: string, amount: bigint}\n",
    "assets/log.yml": "asset: log\nwrite: append\ninlets: {sales: {read: {after: id}}}\n"
    "sql: SELECT * FROM {{ inlets.sales }}\n",
    "assets/days.yml": "asset: days\npartition: {by: day, column: day}\nsql: SELECT * FROM {{ inlets.sales }}\n",
}


@pytest.fixture(scope="module")
def s3() -> Iterator[tuple[Lossy, Server]]:
    """What becomes of requests to an S3 API, and what starts drivers that ask it."""
    pytest.importorskip("boto3")
    from tests.integration.on_s3 import serving

    known = dict(os.environ)
    with serving() as address, before(address) as lossy:
        os.environ["AWS_ENDPOINT_URL"] = lossy.address
        server = Server()
        yield lossy, server
        server.close()
    for name in {*os.environ} - {*known}:
        del os.environ[name]
    os.environ.update(known)


class Shop:
    """A project whose tables follow what is sold."""

    def __init__(self, home: Path, s3: tuple[Lossy, Server]) -> None:
        self.lossy, self.server = s3
        self.lossy.begin()
        self.lake = f"s3://lake/drivers-{next(FOLDERS)}"
        files = {name: text.replace("LAKE", self.lake) for name, text in FILES.items()}
        self.folder = write(home / "conf", files)
        self.sold = 0

    def sell(self) -> None:
        """Ten more sales, of two days."""
        numbers = range(self.sold, self.sold + 10)
        rows = [{"id": n, "day": date(2025, 1, 1 + n % 2), "shop": "de", "amount": 1} for n in numbers]
        write_deltalake(f"{self.lake}/sales", pa.Table.from_pylist(rows, SALES), mode="append")
        self.sold += 10

    def start(self, **orders: object) -> Started:
        """A driver."""
        return start(self.folder, by=self.server, **orders)

    def settle(self) -> None:
        """A driver that waits for whatever others hold."""
        self.lossy.begin()
        assert self.start(waits=20.0).ends() == "exited 0"

    def check(self) -> None:
        """Every sale is in each table once, and of each run there is one commit."""
        for name in ("log", "days"):
            table = DeltaTable(f"{self.lake}/tables/{name}")
            assert sorted(pa.table(table.scan())["id"].to_pylist()) == list(range(self.sold)), name
            runs = [stamp["run"] for stamp in stamps(f"{self.lake}/tables/{name}")]
            assert len(runs) == len(set(runs)), name


@pytest.mark.parametrize("point", POINTS)
def test_who_is_taken_over_while_it_is_stopped_goes_on_to_no_avail(s3, tmp_path, point):
    shop = Shop(tmp_path, s3)
    shop.sell()
    zombie = shop.start(point=point, act="stop", host="elsewhere", ahead=AHEAD)
    assert zombie.ends() == "stopped"
    shop.settle()
    shop.sell()
    zombie.go_on()
    assert zombie.ends() == "exited 0"
    shop.settle()
    shop.check()


@pytest.mark.parametrize("what", ["lose", "busy"])
@pytest.mark.parametrize("which", [LOG_ENTRY, r"PUT "])
def test_two_at_once_where_the_store_fails_them(s3, tmp_path, what: What, which: str):
    shop = Shop(tmp_path, s3)
    for turn in range(4):
        shop.sell()
        shop.lossy.begin(what, which, range(1 + turn, 60, 3))
        both = [shop.start(host=host, ahead=ahead, waits=20.0) for host, ahead in (("one", AHEAD), ("two", -AHEAD))]
        assert [each.ends() for each in both] == ["exited 0", "exited 0"]
    shop.settle()
    shop.check()
