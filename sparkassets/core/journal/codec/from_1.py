"""Upgrades format 1, which had epochs, places and no value for a whole dataset, to format 2."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Body = dict[str, Any]


def upgrade_body(kind: str, body: Body) -> Body:
    """The body of that kind in format 2."""
    upgrade = _BY_KIND.get(kind)
    return body if upgrade is None else upgrade(body)


def _rename_keys(body: Body, **names: str) -> Body:
    return {names.get(key, key): value for key, value in body.items()}


def _spec(body: Body) -> Body:
    return _rename_keys(body, place="storage")


def _claim(body: Body) -> Body:
    """Renames a claim's keys, and drops its ``places``, which were never read."""
    return {key: value for key, value in _rename_keys(body, left="remaining").items() if key != "places"}


def _ending(body: Body) -> Body:
    return _rename_keys(body, epoch="token")


def _target(body: Body) -> Body:
    target = _rename_keys(body, left="reached")
    whole = target.pop("whole")
    del target["event"]
    return {**target, "commits": _commits(target["commits"], whole=whole)}


def _asset(body: Body) -> Body:
    whole = body["spec"]["partition"] is None
    return {
        **body,
        "spec": _spec(body["spec"]),
        "partly": {
            key: [[number, _everything(pairs) if whole else pairs] for number, pairs in items]
            for key, items in body["partly"].items()
        },
        "foreign": _commits(body["foreign"], whole=whole),
        "chain": [_link(link) for link in body["chain"]],
        "failed": [_upgrade_failed(item) for item in body["failed"]],
    }


def _dataset(body: Body) -> Body:
    return {**body, "recent": [_event(ref) for ref in body["recent"]]}


def _event(ref: list[Any]) -> list[Any]:
    """An event of the whole dataset had neither starts nor ends."""
    seq, asset, at, starts, ends, *rest = ref
    return [seq, asset, at, [starts, ends] if starts else None, *rest]


def _link(link: Body) -> Body:
    """A claim was JSON text within JSON."""
    claim = json.loads(link["claim"])
    del claim["v"]
    return {**_ending(link), "claim": _claim(claim)}


def _upgrade_failed(item: list[Any]) -> list[Any]:
    """Drops the cause, which was never read."""
    pairs, token, run, _, *rest = item
    return [pairs, token, run, *rest]


def _commits(commits: list[list[Any]], *, whole: bool) -> list[list[Any]]:
    """Foreign commits of a table without partitions touched no partitions, and now touch everything."""
    return [[*head, _everything(pairs) if whole else pairs] for *head, pairs in commits]


def _everything(pairs: list[list[int]]) -> list[list[int]] | None:
    return pairs or None


_BY_KIND: Mapping[str, Callable[[Body], Body]] = {
    "spec": _spec,
    "claim": _claim,
    "success": _ending,
    "failure": _ending,
    "unfenced": _ending,
    "target": _target,
    "asset": _asset,
    "dataset": _dataset,
}
