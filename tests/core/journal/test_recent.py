"""Remembered events are as a plain list of them would be, and are read only where somebody asks for some."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal import recent_events
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.recent_events import EventPack, RecentEvents
from sparkassets.core.journal.state import DatasetState, EventRef, State
from sparkassets.core.partitions import PartitionSet
from sparkassets.errors import StateError

MANY = 5 * recent_events.PACK
numbers = st.integers(0, 40)


def ref(seq: int) -> EventRef:
    return EventRef(seq, "x-s", "s", 1000 + seq, PartitionSet.span(seq, seq + 60), {"n": seq, "ä": '"'}, None, (1, 2))


def seqs(refs) -> list[int]:
    return [each.seq for each in refs]


def stored(state: State) -> State:
    return decode(encode(state), journal_id=state.journal_id)


def waiting(count: int) -> State:
    dataset = DatasetState("x-s", seq=count, recent=RecentEvents.from_events(map(ref, range(1, count + 1))))
    return State("journal", count, 1, {}, {"x-s": dataset})


@given(st.lists(st.sets(numbers), max_size=4), numbers, numbers, st.frozensets(numbers), st.integers(1, 3))
def test_they_are_as_a_list_is(batches, after, up_to, some, pack):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recent_events, "PACK", pack)
        found, plain = RecentEvents[EventRef](), []
        for batch in batches:
            more = [ref(100 * len(plain) + seq) for seq in sorted(batch)]
            found, plain = found.with_events(more), [*plain, *more]
        check(found, plain, after, up_to, some)
        known = stored(State("journal", 1, 1, {}, {"x-s": DatasetState("x-s", recent=found)})).dataset("x-s").recent
        assert known == found
        check(known, plain, after, up_to, some)


def check(found, plain, after, up_to, some):
    assert (list(found), len(found), bool(found)) == (plain, len(plain), bool(plain))
    assert (found.first, found.newest) == ((plain[0].seq, plain[-1]) if plain else (0, None))
    assert seqs(found.between(after)) == [seq for seq in seqs(plain) if seq > after]
    assert seqs(found.between(after, up_to)) == [seq for seq in seqs(plain) if after < seq <= up_to]
    assert seqs(found.with_numbers(some)) == [seq for seq in seqs(plain) if seq in some]
    left = found.without(up_to, kept_numbers=some)
    assert list(left) == [each for each in plain[:-1] if each.seq > up_to or each.seq in some] + plain[-1:]
    assert left == RecentEvents.from_events(left)
    assert hash(left) == hash(RecentEvents.from_events(left))


def test_what_waits_is_not_read_while_nobody_asks(monkeypatch):
    read, told = [], stored(waiting(MANY))
    monkeypatch.setattr(EventPack, "items", property(lambda pack: read.append(pack.first)))
    waits = stored(told).dataset("x-s").recent
    assert (len(waits), waits.first, waits.newest) == (MANY, 1, ref(MANY))
    assert seqs(waits.between(MANY - 3)) == [MANY - 2, MANY - 1, MANY]
    assert len(waits.with_events([ref(MANY + 1)]).without(0, kept_numbers=())) == MANY + 1
    assert not read


def test_only_those_that_are_asked_for_are_read(monkeypatch):
    waits = stored(waiting(MANY)).dataset("x-s").recent
    read, own = [], EventPack.items
    monkeypatch.setattr(EventPack, "items", property(lambda pack: read.append(pack.first) or own.fget(pack)))
    assert seqs(waits.with_numbers({recent_events.PACK + 7})) == [recent_events.PACK + 7]
    assert read == [recent_events.PACK + 1]


def test_a_pack_that_is_damaged_is_told_when_it_is_read():
    (row,) = encode(waiting(MANY))
    body = json.loads(row.body)
    body["packed"][1][-1] = "AAAA"
    waits = decode([replace(row, body=json.dumps(body))], journal_id="journal").dataset("x-s").recent
    assert next(iter(waits)) == ref(1)
    with pytest.raises(StateError, match="the snapshot's row of 'x-s' is damaged: "):
        list(waits)
