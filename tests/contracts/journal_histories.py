"""Random histories of a journal: what several stores of one state do in turn is as one store in memory has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.errors import JournalConflictError
from sparkassets.ports import HistoryQuery, JournalStore
from sparkassets.state.memory_store import MemoryStore

AT = datetime(2025, 3, 21, 6, 0, 0, 123456, tzinfo=UTC)
TEXTS = (None, "", "a", "flüge", "it's", "r'1\"; -- ${x}", '{"é": "\\u0000😀", "n": null}', "a\nb\\c`d`\u2028")


Act = Callable[[JournalStore, int], Any]
"""What is done with a store whose commits are so many more than the model's."""


def play(stores: Sequence[JournalStore], *, seed: int, steps: int) -> list[str]:
    """Does so many things with one of the stores each, all of the same new state; returns what was done.

    Raises:
        AssertionError: A store tells something else than the one in memory.
    """
    random, model = Random(seed), MemoryStore()  # noqa: S311  a history, no secret
    done, ahead = list[str](), 0
    for store in stores:
        assert not store.exists()
    for store in (random.choice(stores), *stores, model):
        store.create(project="p")
    for _ in range(steps):
        store, (name, act) = random.choice(stores), _step(random, model)
        assert _outcome(act, store, ahead) == _outcome(act, model, 0), (name, done)
        done.append(f"{type(store).__name__} {name}")
        if name == "expire":  # a commit of the journal's own, or none
            ahead = store.read_after(0)[0] - model.read_after(0)[0]
    for store in stores:
        assert _outcome(_read, store, ahead) == _outcome(_read, model, 0), done
        assert not store.find_damages(), done
    return done


def _step(random: Random, model: MemoryStore) -> tuple[str, Act]:
    """Something to do with a journal that stands where the model does."""
    number, rows = model.read_after(0)
    last, base = (rows[-1].seq if rows else 0), model.read_base()[1]
    ways = {"append": 8, "late": 2, "gap": 1, "snapshot": 2, "read": 2, "after": 2, "history": 3, "expire": 2}
    what = random.choices([*ways], [*ways.values()])[0]
    match what:
        case "append" | "late" | "gap":
            count, first = random.randint(1, 3), last + (2 if what == "gap" else 1)
            new = [_row(random, seq) for seq in range(first, first + count)]
            if what == "late":
                after = random.choice([number - 1, number + 1])
                return what, lambda store, ahead: _is_refused(lambda: store.append(new, after=after + ahead))
            return what, lambda store, ahead: store.append(new, after=number + ahead)
        case "snapshot":
            seq = random.choice([each for each in range(last + 2) if each != base or not base])
            known = [_snapshot(random, seq, n) for n in range(random.randint(0, 3))]
            return what, lambda store, _: store.save_snapshot(known, seq=seq)
        case "expire":
            seq = random.randint(0, last + 1)
            known = [_snapshot(random, seq, n) for n in range(random.randint(0, 3))]
            return what, lambda store, _: store.expire(known, seq=seq)
        case "after":
            seq = random.randint(0, last)
            return what, lambda store, ahead: _after(store, seq, ahead)
        case "history":
            asked = _filters(random, last)
            return f"{what} {asked}", lambda store, _: list(store.read_history(HistoryQuery(**asked)))
    return what, _read


def _read(store: JournalStore, ahead: int) -> Any:
    image, (base, seq) = store.read_image(project="p"), store.read_base()
    known = sorted(image.snapshot, key=str), image.snapshot_seq, sorted(base, key=str), seq
    return image.commit - ahead, *known, list(image.tail), store.oldest_seq()


def _after(store: JournalStore, seq: int, ahead: int) -> Any:
    number, rows = store.read_after(seq)
    return number - ahead, list(rows)


def _is_refused(act: Callable[[], Any]) -> bool:
    """Whether it is, by whichever of its two faults is found first."""
    try:
        act()
    except (JournalConflictError, ValueError):
        return True
    return False


def _outcome(act: Act, store: JournalStore, ahead: int) -> Any:
    try:
        return act(store, ahead)
    except (JournalConflictError, ValueError) as error:
        return type(error)


def _filters(random: Random, last: int) -> dict[str, Any]:
    every: dict[str, Any] = {
        "kinds": random.sample(["event", "claim", "success"], random.randint(0, 2)),
        "asset": random.choice(TEXTS[1:]),
        "run": random.choice(TEXTS[1:]),
        "ids": random.sample(TEXTS[1:], random.randint(0, 2)),
        "after_seq": random.randint(0, last),
        "last": random.randint(0, 4),
    }
    return {key: every[key] for key in random.sample(sorted(every), random.randint(0, 2))}


def _row(random: Random, seq: int) -> JournalRow:
    longs = tuple(random.choice([-(2**63), -1, 0, 2**63 - 1]) for _ in range(random.randint(0, 2)))
    row = JournalRow(seq, AT + timedelta(microseconds=random.choice([0, 1, -(10**15)])), "host:1", "event")
    return replace(
        row,
        kind=random.choice(["event", "claim", "success"]),
        asset=random.choice(TEXTS),
        run=random.choice(TEXTS),
        id=random.choice(TEXTS),
        extra=random.choice(TEXTS),
        starts=longs,
        ends=longs,
        version=random.choice([None, 0, 2**63 - 1]),
    )


def _snapshot(random: Random, seq: int, number: int) -> SnapshotRow:
    texts = tuple(text for text in random.sample(TEXTS, 2) if text is not None)
    return replace(
        SnapshotRow(asset=f"a{number}", uri=random.choice(TEXTS), segment=None, seq=seq, commit=number),
        starts=(1, 5),
        stale_inlets=texts,
        stale_seqs=(2**40,),
        body=random.choice(TEXTS[1:]),
    )
