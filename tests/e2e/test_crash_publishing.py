"""Processes that are killed while they publish, roll back or remove: no iteration is lost, doubled or half there."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from sparkassets import Project
from tests.e2e.projects import rows, stamps, write
from tests.e2e.test_crash import PROJECT, Shop, shop

__all__ = ["shop"]
pytestmark = [pytest.mark.spark, pytest.mark.crash]

KEEP = 2
FILES = {
    "project.yml": PROJECT["project.yml"].replace("spark:", "python: [jobs]\n        spark:"),
    "assets/total.yml": """
        asset: total
        inlets: [sales]
        write: {publish: {keep: 2}}
        sql: SELECT sum(amount) AS amount FROM {{ inlets.sales }}
    """,
    "assets/model.yml": """
        asset: model
        inlets: [sales]
        write: {publish: {keep: 2}}
        python: jobs.work:train
    """,
    "jobs/__init__.py": "",
    "jobs/work.py": """
        from pathlib import Path

        def train(context, sales):
            amount = sum(row.amount for row in sales.collect())
            Path(context.outlets.model.path, "amount.json").write_text(str(amount))
    """,
}


class Publisher:
    """An asset that publishes the sum of all sales, and a plain model of it."""

    def __init__(self, shop: Shop, asset: str) -> None:
        self.shop = shop
        self.asset = asset
        self.sold: list[int] = []
        self.published: list[int] = []
        self.shown: list[int] = []

    def sell(self) -> None:
        """What makes the next iteration another one."""
        self.sold.append(2 ** len(self.sold))
        self.shop.sell([(len(self.sold), "2025-01-01", self.sold[-1])])
        self.published.append(sum(self.sold))
        self.shown.append(sum(self.sold))

    def publish(self) -> None:
        self.sell()
        assert [run.status for run in self.shop.start(self.asset).runs] == ["success"]
        self.check()
        assert len(self.listed()) == KEEP or len(self.published) < KEEP
        assert self.folders() == sorted(each.iteration.name for each in self.listed())

    def listed(self):
        return Project.load(self.shop.folder).history.iterations(self.asset)

    def folders(self) -> list[str]:
        return sorted(each.name for each in (self.shop.table(self.asset) / "_iterations").iterdir())

    def held(self, path: Path) -> list[int]:
        """What one iteration holds, or what readers see."""
        if self.asset == "total":
            return [amount for (amount,) in rows(path, "amount")]
        if path.name != "files":
            (row,) = rows(path, "path")
            (path,) = map(Path, row)
        return [json.loads((path / "amount.json").read_text())]

    def check(self) -> None:
        """Readers see what they are to see, every iteration listed is there as it was made, all are news once."""
        shop, listed = self.shop, self.listed()
        assert self.held(shop.table(self.asset)) == self.shown[-1:]
        held = [self.held(Path(each.path)) for each in listed]
        assert sorted(held) == [[amount] for amount in sorted(self.published)[-len(held) :]]
        assert [held[at] for at, each in enumerate(listed) if each.newest] == [self.shown[-1:]]
        assert len(held) >= min(KEEP, len(self.published))
        successes = [row.run for row in shop.history(self.asset, "success")]
        assert len(set(successes)) == len(successes) == len(self.shown)
        assert successes == [marker["run"] for marker in stamps(shop.table(self.asset))]
        assert len(Project.load(shop.folder).history.events(asset=self.asset)) == len(self.shown)
        assert shop.planned(self.asset) == []

    def killed(self, moment: str, *more: str) -> None:
        """Dies there, is completed by the next start, and by that alone."""
        self.shop.victim(self.asset, moment, *more).kill_and_wait_for_its_jvm()
        run = self.shop.history(self.asset, "claim")[-1].run
        recorded = moment in ("recorded", "retired", "removing")
        assert (run in [row.run for row in self.shop.history(self.asset, "success")]) == recorded
        summary = self.shop.start(self.asset)
        assert summary.ok
        adopted = [each.adopted for each in summary.runs]
        assert adopted == ([] if recorded else [run if moment in ("put", "written") else None])
        self.check()


@pytest.mark.parametrize(
    ("asset", "by_spark", "moments"),
    [
        ("total", False, ["readable", "removing"]),
    ],
)
def test_what_was_killed_while_it_published_is_an_iteration_once(shop, asset, by_spark, moments):
    write_files(shop, by_spark=by_spark)
    publisher = Publisher(shop, asset)
    publisher.publish()
    publisher.publish()
    for moment in moments:
        publisher.sell()
        publisher.killed(moment)
    publisher.publish()


@pytest.mark.parametrize(
    ("asset", "moments"),
    [
        ("total", ["computed", "put"]),
    ],
)
def test_a_rollback_that_was_killed_is_completed_once(shop, asset, moments):
    write_files(shop)
    publisher = Publisher(shop, asset)
    publisher.publish()
    publisher.publish()
    for moment in moments:
        (older,) = [each for each in publisher.listed() if not each.newest]
        publisher.shown += publisher.held(Path(older.path))
        publisher.killed(moment, older.iteration.run)
    publisher.publish()


def write_files(shop: Shop, *, by_spark: bool = False) -> None:
    more = {"assets/total.yml": FILES["assets/total.yml"] + "        commit: spark\n"} if by_spark else {}
    write(shop.folder, {name: dedent(text) for name, text in {**FILES, **more}.items()})
