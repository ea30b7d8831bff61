"""A process that is killed while its run is judged: what is withheld, taken away and published comes out the same."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from sparkassets import Project
from tests.e2e.projects import rows, stamps, write
from tests.e2e.test_crash import FIRST, Shop, shop

__all__ = ["shop"]
pytestmark = [pytest.mark.spark, pytest.mark.crash]

SELECT = "sql: SELECT id, day, amount FROM {{ inlets.sales }}"
RULES = """
validations:
  - range: {amount: {max: 100}}
  - {range: {amount: {min: 0}}, severity: quarantine, name: refunds}
  - {accepted: {id: [1, 2, 3, 4, 5, 7, 8]}, severity: drop}
"""
FILES = {
    "assets/checked.yml": f"asset: checked\npartition: {{by: day, column: day}}\n{SELECT}\n{RULES}",
    "assets/split.yml": """
asset: split
partition: {by: day, column: day}
outlets:
  small: {sql: "SELECT id, day, amount FROM {{ inlets.sales }} WHERE amount < 5"}
  large:
    sql: SELECT id, day, amount FROM {{ inlets.sales }} WHERE amount >= 5
    validations: [{range: {amount: {max: 100}}}]
""",
}
BAD = [(3, "2025-01-02", 700), (4, "2025-01-03", 1), (5, "2025-01-02", 3), (6, "2025-01-03", 2), (7, "2025-01-03", -2)]
"""The second day is to be withheld; of the third one row is dropped, and one put into quarantine."""
MOMENTS = ["prepared", "quarantined", "put", "written", "recorded", "staged", "claimed"]


@pytest.mark.parametrize("by_spark", [False, True])
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_next_start_publishes_what_is_good_once_and_nothing_else(shop, moment, by_spark):
    if by_spark and moment in ("put", "staged"):
        pytest.skip("of the driver's commits")
    more = "commit: spark\n" if by_spark else ""
    write(shop.folder, {"assets/checked.yml": FILES["assets/checked.yml"] + more})
    shop.sell(FIRST)
    shop.start("checked")
    shop.sell(BAD)
    shop.victim("checked", moment).kill_and_wait_for_its_jvm()
    killed = shop.history("checked", "claim")[-1].run
    was_in = killed in [stamp["run"] for stamp in stamps(shop.table("checked"))]
    assert was_in == (moment in ("put", "written", "recorded"))
    go_on(shop, "checked")
    assert rows(shop.table("checked"), "id", "amount") == [(1, 10), (2, 5), (4, 1)]
    assert not ids_of_all_versions(shop) & {3, 5, 6, 7}
    runs = [stamp["run"] for stamp in stamps(shop.table("checked"))]
    told = stamps(shop.table("checked"))[-1]["measures"]
    assert len(runs) == len(set(runs)) == len(shop.history("checked", "success"))
    assert {each["outcome"] for each in told["verdicts"]} >= {"withheld", "quarantined", "dropped"}
    beside = rows(shop.table("checked_quarantine"), "id", "_run")
    assert [(number, run) for number, run in beside if run in runs] == [(7, runs[-1])]
    assert shop.left("checked") == []


@pytest.mark.parametrize(
    "moment",
    [
        "written@small",
        "prepared@large",
        "computed@small",
        "written@large",
        "recorded",
    ],
)
def test_a_partition_is_withheld_in_all_outlets_or_in_none_whoever_completes_them(shop, moment):
    write(shop.folder, {"assets/split.yml": FILES["assets/split.yml"]})
    shop.sell(FIRST)
    shop.start("split")
    shop.sell(BAD)
    shop.victim("split", moment).kill_and_wait_for_its_jvm()
    killed = shop.history("split", "claim")[-1].run
    if killed in [stamp["run"] for stamp in stamps(shop.table("small"))]:  # whoever completes it judges nothing again
        lenient = FILES["assets/split.yml"].replace("max: 100", "max: 1000")
        write(shop.folder, {"assets/split.yml": lenient})
    go_on(shop, "split")
    small, large = ([stamp for stamp in stamps(shop.table(name)) if stamp["run"] == killed] for name in BOTH)
    assert [stamp["measures"]["withheld"] for stamp in small] == [stamp["measures"]["withheld"] for stamp in large]
    if small:
        assert small[0]["measures"]["withheld"]


BOTH = ("small", "large")


def go_on(shop: Shop, asset: str) -> None:
    """The next start, in this process, which may have something to withhold."""
    Project.load(shop.folder).run(shop.spark, select=[asset], check=False)


def ids_of_all_versions(shop: Shop) -> set[int]:
    table = shop.table("checked")
    versions = range(DeltaTable(table).version() + 1)
    found = (DeltaTable(table, version=each).to_pyarrow_dataset().to_table(columns=["id"]) for each in versions)
    return {number for each in found for number in each["id"].to_pylist()}
