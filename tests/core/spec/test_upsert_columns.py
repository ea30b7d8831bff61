"""What an upsert goes by and its SELECT does not yield is refused at its place, before anything runs."""

import pytest

from tests.core.spec.in_memory import errors, errors_of, one

HEAD = "asset: a\ninlets: {flights: {read: {after: id}}}\n"
SELECTING = "asset: a\ninlets: {flights: {read: {after: id}}}\nsql: SELECT … FROM {{ inlets.flights }}\n"
HISTORY = "history: {valid_from: since, valid_to: until, current: holds}"


def text(select: str, upsert: str) -> str:
    return SELECTING.replace("…", select) + f"write: {{upsert: {upsert}}}\n"


@pytest.mark.parametrize(
    ("select", "upsert", "expected"),
    [
        (
            "customer_id, name",
            "{keys: [custmer_id]}",
            """\
a.yml:4:25: the SELECT of asset 'a' yields no column 'custmer_id', which is one of the keys
    write: {upsert: {keys: [custmer_id]}}
                            ^^^^^^^^^^
  hint: did you mean 'customer_id'?""",
        ),
        (
            "id, lsn AS _lsn",
            "{keys: [id], newest_by: lsn}",
            """\
a.yml:4:41: the SELECT of asset 'a' yields no column 'lsn', which decides the newest row
    write: {upsert: {keys: [id], newest_by: lsn}}
                                            ^^^
  hint: did you mean '_lsn'?""",
        ),
        (
            "id, at",
            "{keys: [id, day], newest_by: [at, seq]}",
            """\
a.yml:4:29: the SELECT of asset 'a' yields no column 'day', which is one of the keys
    write: {upsert: {keys: [id, day], newest_by: [at, seq]}}
                                ^^^
  hint: known are at, id
a.yml:4:51: the SELECT of asset 'a' yields no column 'seq', which decides the newest row
    write: {upsert: {keys: [id, day], newest_by: [at, seq]}}
                                                      ^^^
  hint: known are at, id""",
        ),
        (
            "id, sinse",
            f"{{keys: [id], {HISTORY}}}",
            """\
a.yml:4:52: 'history' needs the start of each row's validity: asset 'a' lacks the column 'since'
    write: {upsert: {keys: [id], history: {valid_from: since, valid_to: until, current: holds}}}
                                                       ^^^^^
  hint: did you mean 'sinse'?""",
        ),
        (
            "id, since, UNTIL, holds",
            f"{{keys: [id], {HISTORY}}}",
            """\
a.yml:4:69: the SELECT of asset 'a' yields the column 'until', which the history adds
    write: {upsert: {keys: [id], history: {valid_from: since, valid_to: until, current: holds}}}
                                                                        ^^^^^
  hint: take it out of the SELECT, or give it another name here
a.yml:4:85: the SELECT of asset 'a' yields the column 'holds', which the history adds
    write: {upsert: {keys: [id], history: {valid_from: since, valid_to: until, current: holds}}}
                                                                                        ^^^^^
  hint: take it out of the SELECT, or give it another name here""",
        ),
    ],
)
def test_what_the_select_lacks(select, upsert, expected):
    assert errors_of(text(select, upsert)) == expected


@pytest.mark.parametrize(
    ("select", "upsert"),
    [
        ("*", "{keys: [id], newest_by: at}"),
        ("ID, name", "{keys: [id]}"),
        ("id, lsn AS _lsn, op AS _op", "{keys: [id], newest_by: _lsn, delete_when: \"_op = 'd'\"}"),
        ("id, x AS since", f"{{keys: [id], {HISTORY}}}"),
        ("id, seq, x AS since", f"{{keys: [id], newest_by: seq, {HISTORY}}}"),
        ("id, at AS _at", f"{{keys: [id], newest_by: _at, {HISTORY}}}"),
        ("id, at AS _at, lsn AS _lsn", f"{{keys: [id], newest_by: [_at, _lsn], {HISTORY}}}"),
        ("id, since, lsn AS _lsn", f"{{keys: [id], newest_by: _lsn, keep_deletes: 3d, {HISTORY}}}"),
        ("id, since", f"{{keys: [id], keep_deletes: 3d, {HISTORY}}}"),
        ("*", f"{{keys: [id], {HISTORY}}}"),
        ("id, _change_type, _commit_version", "{keys: [id]}"),
    ],
)
def test_what_it_yields_or_does_not_tell(select, upsert):
    assert one(text(select, upsert)).write is not None


def test_what_the_columns_of_a_function_lack():
    columns = "columns: {id: bigint, name: string}\npython: jobs.a:made\n"
    a = f"{HEAD}{columns}write: {{upsert: {{keys: [id], {HISTORY}}}}}\n"
    assert (
        "a.yml:5:52: 'history' needs the start of each row's validity: asset 'a' lacks the column 'since'\n"
        in errors_of(a)
    )


def test_each_outlet_yields_what_the_upsert_goes_by():
    made = """\
asset: made
inlets: {flights: {read: {after: id}}}
write: {upsert: {keys: [id]}}
outlets:
  one: {sql: "SELECT id, x FROM {{ inlets.flights }}"}
  two: {sql: "SELECT ids, x FROM {{ inlets.flights }}"}
"""
    flights = "asset: flights\nsource: delta\npath: /lake/flights\n"
    told = errors({"a.yml": made, "flights.yml": flights})
    assert told.startswith("a.yml:6:8: the SELECT of asset 'two' yields no column 'id', which is one of the keys\n")
    assert told.count("\na.yml") == 0
