"""`write: {upsert: …}`: what is read of it, and what is refused at its place."""

import pytest

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.writes import HistoryColumns, UpsertWrite
from tests.core.spec.in_memory import errors_of, one

HEAD = "asset: a\ninlets: {flights: {read: {after: id}}}\nsql: SELECT 1 FROM {{ inlets.flights }}\n"


def spec(write: str, more: str = "") -> AssetSpec:
    return one(f"{HEAD}{more}write: {{upsert: {write}}}")


def test_keys_alone():
    assert spec("{keys: [id]}").write == UpsertWrite(("id",))


def test_everything():
    history = "history: {valid_from: since, valid_to: until, current: holds}"
    write = spec(f"{{keys: [a, b], newest_by: _at, delete_when: \"_op = 'd'\", keep_deletes: 30d, {history}}}").write
    assert isinstance(write, UpsertWrite)
    assert (write.keys, write.newest_by, write.delete_when) == (("a", "b"), ("_at",), "_op = 'd'")
    assert write.keep_deletes is not None
    assert write.keep_deletes.text == "30d"
    assert write.history == HistoryColumns("since", "until", "holds")


def test_a_list_of_columns_tells_which_is_newest():
    write = spec("{keys: [id], newest_by: [at, seq]}").write
    assert isinstance(write, UpsertWrite)
    assert write.newest_by == ("at", "seq")


def test_a_change_of_its_options_is_one_of_the_code():
    def id_of(write: str) -> str:
        definition = spec(write).definition
        assert definition is not None
        return definition.id

    assert id_of("{keys: [id]}") != id_of("{keys: [id, day]}")
    assert id_of("{keys: [id]}") != id_of("{keys: [id], newest_by: at}")
    assert id_of("{keys: [id], newest_by: at}") == id_of("{keys: [id], newest_by: at, keep_deletes: 3d}")


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (
            "upsert",
            "a.yml:4:8: 'write' is 'upsert'; expected replace, append, self or a map such as {upsert: {keys: [id]}}\n",
        ),
        (
            "{}",
            "a.yml:4:8: 'write' names no write mode; expected {upsert: {keys: [<column>]}} or {publish: ",
        ),
        ("{upsert: {}}", "a.yml:4:17: missing key 'keys' in 'upsert'\n"),
        ("{upsert: [id]}", "a.yml:4:17: 'upsert' in 'write' is a list; expected {keys: [column]}\n"),
        ("{upset: {keys: [id]}}", "a.yml:4:9: unknown key 'upset' in 'write'\n"),
        ("{upsert: {keys: id}}", "a.yml:4:24: 'keys' in 'upsert' is 'id'; expected a list of columns such as [id]\n"),
        ("{upsert: {keys: []}}", "a.yml:4:24: 'keys' is an empty list; expected a column\n"),
        ("{upsert: {keys: [id, ID]}}", "a.yml:4:29: the column 'ID' is listed twice\n"),
        ("{upsert: {keys: [_id]}}", "a.yml:4:25: the key '_id' begins with '_': such columns are not stored\n"),
        ("{upsert: {key: [id], keys: [id]}}", "a.yml:4:18: unknown key 'key' in 'upsert'\n"),
        (
            "{upsert: {keys: [id], newest_by: []}}",
            "a.yml:4:41: 'newest_by' is an empty list; expected a column\n",
        ),
        (
            "{upsert: {keys: [id], newest_by: 3}}",
            "a.yml:4:41: 'newest_by' in 'upsert' is 3; expected a column, or a list of columns\n",
        ),
        (
            "{upsert: {keys: [id], delete_when: ' '}}",
            "a.yml:4:43: 'delete_when' is empty; expected a condition such as \"op = 'd'\"\n",
        ),
        (
            "{upsert: {keys: [id], newest_by: at, keep_deletes: 0d}}",
            "a.yml:4:59: 'keep_deletes' is '0d'; expected a positive duration\n",
        ),
        (
            "{upsert: {keys: [id], keep_deletes: 3d}}",
            "a.yml:4:30: 'keep_deletes' needs 'newest_by': without it no row counts as late\n",
        ),
        (
            "{upsert: {keys: [id], history: {valid_from: id, valid_to: b, current: c}}}",
            "a.yml:4:52: the column 'id' is also a key; expected a different name\n",
        ),
        (
            "{upsert: {keys: [id], history: {valid_from: a, valid_to: A, current: c}}}",
            "a.yml:4:65: the column 'A' is also 'valid_from'; expected a different name\n",
        ),
        (
            "{upsert: {keys: [id], history: {valid_from: _a, valid_to: b, current: c}}}",
            "a.yml:4:52: the column '_a' begins with '_': such columns are not stored\n",
        ),
        ("{upsert: {keys: [id], history: {}}}", "a.yml:4:39: missing key 'valid_from' in 'history'\n"),
    ],
)
def test_refused(write, expected):
    assert expected in errors_of(f"{HEAD}write: {write}") + "\n"


def test_what_is_not_declared_is_no_column():
    text = f"{HEAD}columns: {{id: bigint, at: timestamp}}\nwrite: {{upsert: {{keys: [idd], newest_by: att}}}}"
    found = errors_of(text)
    assert "a.yml:5:25: 'columns' lacks 'idd'" in found
    assert "hint: did you mean 'id'?" in found
    assert "a.yml:5:42: 'columns' lacks 'att'" in found


def test_a_partition_is_told_by_a_column_that_is_stored():
    text = "asset: a\npartition: {by: day, column: _day}\nsql: SELECT 1\nwrite: {upsert: {keys: [id]}}"
    expected = "an upsert does not store columns that begin with '_', such as the partition's '_day'"
    assert f"a.yml:2:12: {expected}\n" in errors_of(text)


def test_a_history_has_no_partition_by_time():
    history = "history: {valid_from: a, valid_to: b, current: c}"
    text = f"asset: a\npartition: {{by: day, column: day}}\nsql: SELECT 1\nwrite: {{upsert: {{keys: [id], {history}}}}}"
    expected = "a.yml:4:30: 'history' excludes a partition by time: the rows of a key would be in several partitions\n"
    assert expected in errors_of(text)


def test_all_rows_are_no_upsert():
    assert errors_of("asset: a\nwrite: {upsert: {keys: [id]}}\nsql: SELECT 1") == (
        "a.yml:2:8: strategy 'full_refresh' cannot 'upsert': rows that a recomputation no longer returns would "
        "stay\n    write: {upsert: {keys: [id]}}\n           ^^^^^^^^^^^^^^^^^^^^^^\n  hint: write 'write: "
        "replace'; an inlet with 'read: {after: <column>}' makes it 'latest_only', which continues from there"
    )
