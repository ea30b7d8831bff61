"""A shop whose sales are copied by every strategy and write mode, into one table or two; and what these must hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project
from tests.crash.plain import SALES, WORST, fits
from tests.e2e.projects import rows, stamps, write

SHOPS = ("de", "fr", "nl")
COLUMNS = ("id", "day", "shop", "amount")
Sale = tuple[int, str, str, int]
ROWS = "sql: SELECT id, day, shop, amount FROM {{ inlets.sales }}"
KEEP_ALL = 1000
"""Iterations."""


@dataclass(frozen=True)
class Scenario:
    """One strategy and write mode.

    Attributes:
        text: Of the asset's YAML, without its name, its rows and its outlets.
        by: The column of the source's partitions.
        keeps: How many iterations stay; 0 where none are made.
        judged: Whether rules withhold days with an amount above `WORST`.
    """

    name: str
    text: str
    by: str = "day"
    outlets: tuple[str, ...] = ()
    keeps: int = 0
    judged: bool = False

    @property
    def tables(self) -> tuple[str, ...]:
        """What its runs write."""
        return self.outlets or ("copy",)

    def in_two(self) -> Scenario:
        """The same with two outlets."""
        return replace(self, name=f"{self.name}, two outlets", outlets=("small", "large"))

    def files(self, *, adds: int = 0) -> dict[str, str]:
        """The project's, of which the code adds something to each amount."""
        by = "{by: day, column: day}" if self.by == "day" else "{segments: [de, fr, nl], column: shop}"
        project = "project: shop\nstate: ../state\nwarehouse: ../warehouse\nassets: [assets/]\n"
        rules = f"validations: [{{range: {{amount: {{max: {WORST}}}}}}}]\n" if self.judged else ""
        rows = ROWS.replace(" FROM", f" + {adds} AS amount FROM") if adds else ROWS
        body = f"{rows}\n{rules}"
        if self.outlets:
            select = f"{rows} WHERE amount"
            body = f"outlets:\n  small:\n    {select} < 5\n  large:\n    {select} >= 5\n"
            body += f"    {rules}"
        return {
            "project.yml": f"{project}defaults: {{retries: 0}}\nspark: {{sparkassets.small_data: 'true'}}\n",
            "assets/sales.yml": f"asset: sales\nsource: delta\npath: ../landed/sales\npartition: {by}\n",
            "assets/copy.yml": f"asset: copy\n{self.text}{body}",
        }


BY_DAY = "partition: {by: day, column: day}\n"
BY_SHOP = "partition: {segments: [de, fr, nl], column: shop}\n"
AFTER = "inlets: {sales: {read: {after: id}}}\n"
EACH = f"strategy: every_instance\n{BY_DAY}"
ONE = (
    Scenario("full_refresh, replace", "inlets: [sales]\nschedule: sales\n"),
    Scenario("full_refresh, publish", "inlets: [sales]\nschedule: sales\nwrite: {publish: {keep: 2}}\n", keeps=2),
    Scenario("date_range, replace", BY_DAY),
    Scenario("date_range, upsert", f"{BY_DAY}write: {{upsert: {{keys: [day, id]}}}}\n"),
    Scenario("date_range, judged", BY_DAY, judged=True),
    Scenario("segments, replace", BY_SHOP, by="shop"),
    Scenario("segments, upsert", f"{BY_SHOP}write: {{upsert: {{keys: [shop, id]}}}}\n", by="shop"),
    Scenario("latest_only, append", f"{AFTER}write: append\n"),
    Scenario("latest_only, upsert", f"{AFTER}write: {{upsert: {{keys: [shop], newest_by: id}}}}\n"),
    Scenario("latest_only, publish", f"{AFTER}write: {{publish: {{keep: {KEEP_ALL}}}}}\n", keeps=KEEP_ALL),
    Scenario("every_instance, append", f"{EACH}write: append\n"),
    Scenario("every_instance, replace", EACH),
    Scenario("every_instance, upsert", f"{EACH}write: {{upsert: {{keys: [day, id]}}}}\n"),
    Scenario("every_instance, publish", f"{EACH}write: {{publish: {{keep: {KEEP_ALL}}}}}\n", keeps=KEEP_ALL),
)
SCENARIOS = {each.name: each for one in ONE for each in (one, one.in_two())}


@dataclass
class Shop:
    """A project in a folder, and all that was ever sold."""

    home: Path
    scenario: Scenario
    sold: list[Sale] = field(default_factory=list)
    adds: int = 0

    def __post_init__(self) -> None:
        self.folder = write(self.home / "conf", self.scenario.files())

    def code(self, adds: int) -> Path:
        """Another checkout, with code that adds this; the folder."""
        return write(self.home / "dev", self.scenario.files(adds=adds))

    def sell(self) -> None:
        """A day's sales; of a shop with rules every third day has one that these withhold."""
        number, day = len(self.sold), date(2024, 1, 1) + timedelta(days=len(self.sold) // 4)
        amounts = [number % 7, 5 + number % 3, 1, 8]
        if number // 4 % 3 == 1 and self.scenario.judged:
            amounts[0] = WORST + 1
        new = [(number + n, day.isoformat(), SHOPS[(number + n) % 3], amount) for n, amount in enumerate(amounts)]
        self.sold += new
        found = [dict(zip(COLUMNS, (n, day, shop, amount), strict=True)) for n, _, shop, amount in new]
        table = pa.Table.from_pylist(found, SALES)
        write_deltalake(self.home / "landed" / "sales", table, mode="append", partition_by=[self.scenario.by])

    def table(self, name: str) -> Path:
        """Where it is."""
        return self.home / "warehouse" / name

    def expected(self, table: str) -> Counter[Sale]:
        """What it must hold once all that was sold is in."""
        some = [sale for sale in self.sold if fits(sale[3], table)]
        bad = {sale[1] for sale in self.sold if sale[3] > WORST}
        some = [(*sale[:3], sale[3] + self.adds) for sale in some]
        if "newest_by" in self.scenario.text:
            return Counter({sale[2]: sale for sale in some}.values())
        if self.scenario.judged:  # in all tables, or in none
            return Counter(sale for sale in some if sale[1] not in bad)
        return Counter(some)

    def held(self, table: str) -> Counter[Sale]:
        """What it holds; of what `latest_only` publishes, all iterations do together."""
        if self.scenario.name.startswith("latest_only, publish"):
            listed = Project.load(self.folder).history.iterations(table)
            return Counter(sale for each in listed for sale in _sales(Path(each.path)))
        return Counter(_sales(self.table(table))) if DeltaTable.is_deltatable(str(self.table(table))) else Counter()

    def wrong(self) -> Wrong:
        """What is not as it must be, table by table."""
        lost = sum(((self.expected(name) - self.held(name)).total() for name in self.scenario.tables), 0)
        doubled = sum(((self.held(name) - self.expected(name)).total() for name in self.scenario.tables), 0)
        return Wrong(lost, doubled)

    def check(self) -> None:
        """Every run is in all its tables and in the journal, once each, and nothing is left of any other."""
        project = Project.load(self.folder)
        history = list(project.history.rows())
        assert [row.seq for row in history] == list(range(1, len(history) + 1))
        ran = [row.run for row in history if row.asset == "copy" and row.kind == "success"]
        assert len(ran) == len(set(ran))
        for name in self.scenario.tables:
            stamped = stamps(self.table(name))
            assert sorted(each["run"] for each in stamped) == sorted(ran)
            assert self.left(name) == []
            if self.scenario.outlets:
                outlet = [row.run for row in history if row.asset == name and row.kind == "outlet"]
                assert sorted(outlet) == sorted(ran)
            if self.scenario.keeps:
                self._check_iterations(project, name)
        assert [run for run in project.plan().runs if run.asset == "copy"] == []

    def _check_iterations(self, project: Project, name: str) -> None:
        """Those that are listed are there, and no others."""
        listed = list(project.history.iterations(name))
        kept = [each.iteration.name for each in listed]
        assert len(kept) == len(set(kept))
        assert {each.name for each in (self.table(name) / "_iterations").iterdir()} == set(kept)
        assert (
            len(kept) <= max(self.scenario.keeps, len(self.scenario.tables)) or "every_instance" in self.scenario.name
        )

    def left(self, name: str) -> list[str]:
        """Folders of attempts that no commit refers to; iterations are looked for by their lists."""
        folders = [each.name for each in self.table(name).glob("copy-*")]
        known = {unquote(add["path"]).partition("/")[0] for add in _added(self.table(name))}
        return [folder for folder in folders if folder not in known]


@dataclass(frozen=True)
class Wrong:
    """Rows that are not there, and rows that are there too often."""

    lost: int
    doubled: int


def _sales(path: Path) -> Sequence[Sale]:
    return [(number, day.isoformat(), shop, amount) for number, day, shop, amount in rows(path, *COLUMNS)]


def _added(table: Path) -> Iterator[dict[str, Any]]:
    """Every file that a commit of the table's has added."""
    for file in table.glob("_delta_log/*.json"):
        actions = map(json.loads, file.read_text().splitlines())
        yield from (each["add"] for each in actions if "add" in each)
