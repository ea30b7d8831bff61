"""A driver is killed and its table restored: one does what the command line says, and nothing is lost or doubled."""

from __future__ import annotations

import shlex

import pytest
from deltalake import DeltaTable

from sparkassets.cli import main
from tests.e2e.test_crash import EXPECTED, FIRST, SECOND, Shop, shop

__all__ = ["shop"]
pytestmark = [pytest.mark.spark, pytest.mark.crash]


def restore(shop: Shop, asset: str, version: int) -> None:
    shop.spark.sql(f"RESTORE TABLE delta.`{shop.table(asset)}` TO VERSION AS OF {version}")


def run(shop: Shop, asset: str, capsys) -> tuple[int, str]:
    code = main(["run", "--select", asset, "--project", str(shop.folder)])
    return code, capsys.readouterr().err


def follow(shop: Shop, hint: str, *, said: str) -> int:
    """Types the command of a hint."""
    command = hint.partition("`")[2].partition("`")[0].replace("--done", said).replace("…", "'I looked'")
    return main([*shlex.split(command)[1:], "--project", str(shop.folder)])


@pytest.mark.parametrize(("asset", "said"), [("ledger", "--missing"), ("daily", "--done")])
def test_what_the_hint_says_is_true(shop, asset, said, capsys):
    shop.sell(FIRST)
    assert shop.start(asset).ok
    shop.sell(SECOND)
    before = DeltaTable(str(shop.table(asset))).version()
    shop.victim(asset, "written").kill_and_wait_for_its_jvm()
    killed = shop.history(asset, "claim")[-1].run
    restore(shop, asset, before)
    if said == "--done":
        restore(shop, asset, before + 1)
    for _ in range(2):
        code, told = run(shop, asset, capsys)
        assert code == 1
        assert f"of run {killed}" in told
        hint = next(line for line in told.splitlines() if "check whether the rows of" in line)
    assert follow(shop, hint, said=said) == 0
    assert f"this resolves {killed}" in capsys.readouterr().out
    assert shop.start(asset).ok
    assert shop.contents(asset) == EXPECTED[asset]
    assert shop.planned(asset) == []
    assert shop.start(asset).runs == ()
