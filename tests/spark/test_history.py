"""Which runs are in a target, as its commits tell it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sparkassets.spark import commit_history
from tests.builders import asset


class Past:
    """Commits that say of themselves what a run's do, by version."""

    table_id = "t"

    def __init__(self, *told: Mapping[str, Any]) -> None:
        self.told = told
        self.version = len(told) - 1

    def transaction_version(self, app_id: str) -> int | None:
        return max((each["version"] for each in self.told if each["app"] == app_id), default=None)

    def iterate_commits(self) -> Iterator[Mapping[str, Any]]:
        for version in range(self.version, -1, -1):
            yield {"version": version, "operation": "WRITE", "userMetadata": json.dumps(self.told[version])}


def stamp_fields(kind: str, token: int, *, own: bool = True) -> Mapping[str, Any]:
    version = 0 if kind == "layout" else 2 * token + own
    more = {"run": f"r{token}", "attempt": 1, "measures": {}}
    return {"app": "j/a", "version": version, "epoch": token, "kind": kind, **more}


def found(*told: Mapping[str, Any], runs: tuple[str, ...], above: int = 0) -> list[str]:
    commits = commit_history.find_commits(asset("a"), Past(*told), runs, app_id="j/a", above=above)
    return [each.run for each in commits]


def test_a_run_is_found_behind_what_put_its_table_s_layout_back():
    told = stamp_fields("data", 1), stamp_fields("data", 2), stamp_fields("layout", 2)
    assert found(*told, runs=("r2",), above=4) == ["r2"]
    assert found(stamp_fields("data", 1), stamp_fields("layout", 1), runs=("r2",), above=4) == []


def test_a_run_is_not_sought_below_the_tokens_it_may_have():
    told = stamp_fields("data", 1), stamp_fields("data", 3), stamp_fields("fence", 5, own=False)
    assert found(*told, runs=("r3", "r5"), above=6) == ["r3"]
    assert found(*told, runs=("r4", "r5"), above=8) == []
