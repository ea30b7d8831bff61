"""The fake target of the runtime's tests keeps what targets promise."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import pytest

from sparkassets.core.writes import Append
from sparkassets.ports import RunOrder
from tests.builders import asset
from tests.contracts.target_contract import TargetContract, one_of
from tests.runtime.fakes import FakeEngine, FakeOutlets, FakeTarget, Result


class FakeTable:
    """A table in memory."""

    def __init__(self) -> None:
        self.engine = FakeEngine()
        self.asset = asset("log", by=None, write=Append())
        self.tokens = itertools.count(1)

    def order(self) -> RunOrder:
        token, at = next(self.tokens), datetime(2025, 1, 1, tzinfo=UTC)
        return RunOrder(self.asset, f"log-{token}", "journal/log", token, None, {}, {}, None, at, {})

    def target(self, order: RunOrder) -> FakeTarget:
        return one_of(FakeOutlets(self.engine).of(order.asset, app_id=order.app_id, enlist=lambda: None))

    def compute(self, order: RunOrder) -> Result:
        return self.engine.compute(order, attempt=1)

    def rows(self) -> int:
        return len(self.engine.data("log"))


class TestFake(TargetContract):
    @pytest.fixture
    def table(self):
        return FakeTable()
