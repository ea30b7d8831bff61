"""What happened to a table that an asset is written to, in every state that the world may leave it in."""

import json
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.table_losses import build_target_entry
from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet, SegmentPartition
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.writes import UpsertWrite
from sparkassets.errors import SourceError
from sparkassets.ports import RecordedTable
from sparkassets.sources import DeltaTargetObserver
from tests.builders import asset, days
from tests.depth import examples

APP = "journal/a"


class Table:
    """An asset's table with its runs, and what is recorded of them."""

    def __init__(self, path, *, by="day"):
        self.path = path
        self.asset = replace(asset("a", by=by), storage=StorageLocation(str(path), "a"))
        self.known = None
        self.token = 0

    def write(
        self, *dates, app=APP, mode="append", record=True, kind="data", partitions=None, watermarks=None, **measures
    ):
        """A run of the asset commits a row for each day."""
        self.token += 1
        told = {
            "app": app,
            "kind": kind,
            "epoch": self.token,
            "partitions": [*map(self.label, dates)] if partitions is None else partitions,
            "measures": {"watermarks": watermarks or {}, **measures},
        }
        self.commit(
            *dates,
            mode=mode,
            commit_properties=CommitProperties(
                custom_metadata={"userMetadata": json.dumps(told)},
                app_transactions=[Transaction(app, 2 * self.token + (kind == "data"))],
            ),
        )
        if record:
            table = DeltaTable(self.path)
            held = self.known.coverage if self.known else days()
            parse = self.asset.partitioning.parse if self.asset.partitioning.is_partitioned else days
            computed = held | PartitionSet.union(parse(self.label(each)) for each in dates)
            version = table.version()
            self.known = RecordedTable(str(table.metadata().id), version, version, f"epoch:{self.token}", APP, computed)

    def commit(self, *dates, mode="append", **more):
        """Somebody commits a row for each day."""
        write_deltalake(self.path, self.rows(*dates), mode=mode, **more)

    def label(self, day):
        return f"2025-01-{day:02}"

    def rows(self, *dates):
        return pa.table({"day": pa.array([date(2025, 1, day) for day in dates], pa.date32())})

    def look(self):
        return DeltaTargetObserver().detect_changes(self.asset, self.known)


REGIONS = SegmentPartition("region", ("de", "nl"))


class Products(Table):
    """The same by region and day, in one order or the other; or by region alone."""

    def __init__(self, path, *, timed=True, layout=None):
        super().__init__(path)
        self.layout = layout
        time = self.asset.partitioning.time if timed else None
        self.asset = replace(self.asset, partitioning=Partitioning(time, (REGIONS,), 1 if timed else 0))

    def commit(self, *drawn, mode="append", **more):
        super().commit(*drawn, mode=mode, partition_by=self.layout, **more)

    def label(self, drawn):
        region, day = drawn
        return f"{region},{super().label(day)}" if self.asset.partitioning.time else region

    def rows(self, *drawn):
        days_, regions = [date(2025, 1, day) for _, day in drawn], [region for region, _ in drawn]
        ordered = pa.table({"day": pa.array(days_, pa.date32()), "region": pa.array(regions, pa.string())})
        return ordered.append_column("x", pa.array([0] * len(drawn), pa.int64()))

    def parts(self, *drawn):
        """Of these the set."""
        return PartitionSet.union(self.asset.partitioning.parse(self.label(each)) for each in drawn)


@pytest.fixture
def table(tmp_path):
    made = Table(tmp_path / "a")
    for day in (1, 2, 3):
        made.write(day)
    return made


def restore(table, version):
    DeltaTable(table.path).restore(version)


def log(table, version):
    return Path(table.path, "_delta_log", f"{version:020}.json")


def test_a_table_as_it_was_recorded_is_not_opened(table, monkeypatch):
    monkeypatch.setattr("deltalake.DeltaTable", None)
    assert table.look() is None


def test_a_folder_that_was_removed(table):
    shutil.rmtree(table.path)
    found = table.look()
    assert (found.kind, found.lost, found.table_id, found.version) == ("gone", EVERYTHING, None, None)
    assert found.reason == f"its table at {table.path} was deleted"


def test_a_folder_without_its_log(table):
    shutil.rmtree(Path(table.path, "_delta_log"))
    assert table.look().kind == "gone"


@pytest.mark.parametrize("commits", [1, 3, 5])
def test_another_table_with_fewer_as_many_or_more_commits(table, commits):
    shutil.rmtree(table.path)
    for day in range(1, commits + 1):
        table.commit(day)
    found = table.look()
    assert (found.kind, found.lost, found.version) == ("replaced", EVERYTHING, commits - 1)
    assert found.table_id == str(DeltaTable(table.path).metadata().id) != table.known.table_id
    assert found.reason == f"its table at {table.path} was replaced by another"


def test_another_table_made_by_the_same_run_of_another_state(table):
    """The very numbers agree, but not the journal's id."""
    shutil.rmtree(table.path)
    other = Table(table.path)
    for day in (1, 2, 3):
        other.write(day, app="other/a")
    assert table.look().kind == "replaced"


def test_a_restore_loses_the_partitions_of_the_runs_after_it(table):
    restore(table, 1)
    found = table.look()
    assert (found.kind, found.lost, found.version, found.commits) == ("restored", days("2025-01-03"), 3, ())
    assert found.reason == f"its table at {table.path} was restored to version 1 (RESTORE in version 3)"


def test_a_restore_to_before_everything(table):
    restore(table, 0)
    assert table.look().lost == days("2025-01-02..2025-01-03")


def test_a_restore_that_undoes_what_others_did_loses_nothing_but_changes_rows(table):
    table.commit(2)
    restore(table, 2)
    found = table.look()
    assert (found.kind, found.lost) == ("changed", days())
    assert [(each.version, each.operation, each.partitions) for each in found.commits] == [
        (3, "WRITE", days("2025-01-02")),
        (4, "RESTORE", days("2025-01-02")),
    ]


def test_a_restore_of_a_table_without_partitions_loses_all_and_tells_how_far_runs_had_come(tmp_path):
    table = Table(tmp_path / "a", by=None)
    for day in (1, 2, 3):
        table.write(day, watermarks={"s": str(day)})
    restore(table, 1)
    found = table.look()
    assert (found.kind, found.lost, found.watermarks) == ("restored", EVERYTHING, {"s": "2"})


def test_a_restore_of_which_the_log_does_not_tell_enough_loses_all(table):
    restore(table, 0)
    DeltaTable(table.path).create_checkpoint()
    log(table, 1).unlink()
    assert table.look().lost == table.known.coverage


def test_a_restore_that_names_no_version_loses_the_time_that_it_touched(table):
    restore(table, 0)
    content = log(table, 3).read_text()
    log(table, 3).write_text(content.replace('{"version":"0"}', '{"timestamp":"2025-01-01"}'))
    found = table.look()
    assert found.lost == days("2025-01-02..2025-01-03")
    assert found.reason.endswith("was restored to an earlier version (RESTORE in version 3)")


def test_partitions_that_were_computed_again_after_the_restore_are_not_lost(table):
    before = table.known
    restore(table, 0)
    table.write(3)
    table.known = replace(table.known, accounted_version=before.accounted_version, mark=before.mark)
    assert table.look().lost == days("2025-01-02")


def test_a_folder_that_was_put_back_from_a_copy(table, tmp_path):
    shutil.copytree(table.path, tmp_path / "copy")
    table.write(4)
    shutil.rmtree(table.path)
    shutil.copytree(tmp_path / "copy", table.path)
    found = table.look()
    assert (found.kind, found.lost) == ("restored", EVERYTHING)
    assert found.reason == f"its table at {table.path} went back from version 3 to 2"


def test_a_folder_that_was_put_back_from_a_copy_and_written_to(table, tmp_path):
    shutil.copytree(table.path, tmp_path / "copy")
    table.write(4)
    shutil.rmtree(table.path)
    shutil.copytree(tmp_path / "copy", table.path)
    table.commit(1)
    table.commit(1)
    found = table.look()
    assert (found.kind, found.lost) == ("restored", EVERYTHING)
    assert found.reason == f"the log of its table at {table.path} was rewritten"


def other_append(table):
    table.commit(2)


def other_delete(table):
    DeltaTable(table.path).delete("day = '2025-01-02'")


def other_update(table):
    DeltaTable(table.path).update({"day": "day"}, predicate="day = '2025-01-02'")


def other_merge(table):
    rows = pa.table({"day": pa.array([date(2025, 1, 2)], pa.date32())})
    merge = DeltaTable(table.path).merge(rows, "t.day = s.day", source_alias="s", target_alias="t")
    merge.when_matched_delete().execute()


def other_replace(table):
    table.commit(2, mode="overwrite", predicate="day = '2025-01-02'")


@pytest.mark.parametrize("change", [other_append, other_delete, other_update, other_merge, other_replace])
def test_what_others_do_is_named_with_the_partitions_that_it_touched(table, change):
    change(table)
    found = table.look()
    (commit,) = found.commits
    assert (found.kind, found.lost, found.version) == ("changed", days(), 3)
    assert (commit.version, commit.partitions) == (3, days("2025-01-02"))
    assert commit.operation in {"WRITE", "DELETE", "UPDATE", "MERGE"}
    assert commit.at is not None


def test_an_overwrite_by_others_touches_all_that_was_there(table):
    table.commit(9, mode="overwrite")
    (commit,) = table.look().commits
    assert commit.partitions == days("2025-01-01..2025-01-03")


def test_rows_of_others_in_time_that_no_run_computed_touch_nothing(table):
    table.commit(9)
    (commit,) = table.look().commits
    assert commit.partitions == days()


LAYOUTS = {"by both": ["day", "region"], "by region": ["region"], "statistics": None}
FOREIGN = {
    "append": lambda table, region, day: table.commit((region, day)),
    "delete": lambda table, region, day: DeltaTable(table.path).delete(_where(region, day)),
    "delete a region": lambda table, region, _: DeltaTable(table.path).delete(f"region = '{region}'"),
    "update": lambda table, region, day: DeltaTable(table.path).update({"x": "x + 1"}, predicate=_where(region, day)),
    "move": lambda table, region, day: DeltaTable(table.path).update({"region": "'nl'"}, predicate=_where(region, day)),
    "overwrite": lambda table, region, day: table.commit((region, day), mode="overwrite"),
}
DRAWN = st.tuples(st.sampled_from(["de", "nl", "zz"]), st.integers(1, 3))


def _where(region, day):
    return f"region = '{region}' AND day = '2025-01-0{day}'"


def _held(table):
    rows = DeltaTable(table.path).to_pyarrow_table().to_pylist()
    found = {}
    for row in rows:
        found.setdefault((row["region"], row["day"].day), []).append(row["x"])
    return {drawn: sorted(values) for drawn, values in found.items()}


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.booleans(),
    st.sampled_from(sorted(LAYOUTS)),
    st.lists(st.lists(DRAWN, min_size=1, max_size=4), min_size=1, max_size=3),
    st.lists(st.tuples(st.sampled_from(sorted(FOREIGN)), DRAWN), min_size=1, max_size=3),
)
def test_what_others_do_to_products_is_told_by_segment_and_time(tmp_path, timed, layout, runs, foreign):
    shutil.rmtree(tmp_path / "a", ignore_errors=True)
    table = Products(tmp_path / "a", timed=timed, layout=LAYOUTS[layout])
    for drawn in runs:
        table.write(*((region.replace("zz", "de"), day) for region, day in drawn))
    before = _held(table)
    for verb, drawn in foreign:
        FOREIGN[verb](table, *drawn)
    after, found = _held(table), table.look()
    differing = [each for each in {*before, *after} if before.get(each) != after.get(each) and each[0] != "zz"]
    changed = table.parts(*differing) & table.known.coverage
    told = PartitionSet.union(each.partitions for each in found.commits) if found else NOTHING
    assert told.covers(changed)
    assert table.known.coverage.covers(told)
    if layout == "by both" and timed and len(foreign) == 1 and foreign[0][0] not in ("move", "overwrite"):
        assert told == changed  # the others may write the rows that were there


def test_a_restore_loses_the_products_of_the_runs_after_it(tmp_path):
    table = Products(tmp_path / "a")
    table.write(("de", 1), ("nl", 1))
    table.write(("de", 2))
    table.write(("nl", 1))
    restore(table, 1)
    found = table.look()
    assert (found.kind, found.lost, found.commits) == ("restored", table.parts(("nl", 1)), ())


def test_a_file_that_tells_no_segment_may_be_of_any_that_its_time_was_computed_of(tmp_path):
    table = Products(tmp_path / "a")
    table.write(("de", 1), ("nl", 1), ("nl", 2))
    table.commit(("de", 1), ("nl", 1))
    (commit,) = table.look().commits
    assert commit.partitions == table.parts(("de", 1), ("nl", 1))


def test_optimize_vacuum_and_properties_only_move_the_position(table):
    opened = DeltaTable(table.path)
    opened.optimize.compact()
    opened.alter.set_table_properties({"delta.appendOnly": "false"})
    opened.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    found = table.look()
    assert (found.kind, found.lost, found.commits) == ("moved", days(), ())
    assert found.version == DeltaTable(table.path).version() > table.known.version
    table.known = replace(table.known, version=found.version, accounted_version=found.version, mark=found.mark)
    assert table.look() is None
    table.commit(1)
    assert table.look().kind == "changed"


def test_fences_of_runs_and_commits_of_the_projects_other_assets_are_ours(table):
    table.write(kind="fence", record=False)
    table.write(1, app="journal/b", record=False)
    found = table.look()
    assert (found.kind, found.commits) == ("moved", ())


def test_a_run_that_is_not_recorded_yet_is_not_looked_at_nor_what_came_after_it(table):
    table.write(4, record=False)
    table.commit(1)
    assert table.look() is None


def test_what_others_did_before_it_is_told(table):
    table.commit(1)
    table.write(4, record=False)
    table.commit(2)
    found = table.look()
    assert (found.version, [each.partitions for each in found.commits]) == (3, [days("2025-01-01")])


def test_what_others_did_while_a_run_computed_is_told_after_it_was_recorded(table):
    before = table.known
    table.commit(1)
    table.commit(2)
    table.write(2)
    table.known = replace(table.known, accounted_version=before.accounted_version, mark=before.mark)
    found = table.look()
    assert (found.version, [each.partitions for each in found.commits]) == (5, [days("2025-01-01")])


def test_a_log_that_does_not_tell_what_came(table):
    for _ in range(3):
        table.commit(1)
    DeltaTable(table.path).create_checkpoint()
    log(table, 3).unlink()
    found = table.look()
    (commit,) = found.commits
    assert (found.kind, found.lost, found.version) == ("changed", days(), 5)
    assert commit.operation == "an unknown change (the log no longer has the commits after version 2)"
    assert commit.partitions == table.known.coverage


def test_what_came_untold_to_a_table_without_partitions_changed_all_of_it(tmp_path):
    table = Table(tmp_path / "a", by=None)
    table.write(1)
    for _ in range(3):
        table.commit(1)
    DeltaTable(table.path).create_checkpoint()
    log(table, 1).unlink()
    (commit,) = table.look().commits
    assert commit.partitions == EVERYTHING


def test_a_log_of_which_the_seen_version_was_cleaned_is_the_same_table(table):
    DeltaTable(table.path).create_checkpoint()
    log(table, 2).unlink()
    assert table.look() is None


def test_a_damaged_log_is_a_fault(table):
    log(table, 3).write_text("{broken")
    with pytest.raises(SourceError, match=r"00000000000000000003\.json is truncated, .*: move that file away"):
        table.look()


def test_a_log_that_cannot_be_read_is_a_fault(table, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("sparkassets.delta.log.open", refuse, raising=False)
    with pytest.raises(SourceError, match=r"cannot read the Delta table at .*Permission denied"):
        table.look()


def test_a_table_that_was_replaced_within_its_own_log(table):
    table.commit(1, mode="overwrite")
    content = log(table, 3).read_text()
    made_anew = json.dumps({"metaData": {"id": "other", "schemaString": "{}"}})
    log(table, 3).write_text(f"{content}\n{made_anew}")
    found = table.look()
    assert (found.kind, found.lost, found.table_id) == ("replaced", EVERYTHING, "other")


def test_statistics_tell_the_time_where_folders_do_not_and_else_all_is_touched(table):
    DeltaTable(table.path).delete("day = '2025-01-02'")
    content = [json.loads(line) for line in log(table, 3).read_text().splitlines()]
    for action in content:
        action.get("remove", {}).pop("stats", None)
    log(table, 3).write_text("\n".join(map(json.dumps, content)))
    assert table.look().commits[0].partitions == days("2025-01-02")
    table.asset = replace(
        table.asset, partitioning=Partitioning(replace(table.asset.partitioning.time, column="other"))
    )
    assert table.look().commits[0].partitions == table.known.coverage


def test_a_folder_that_is_not_there_is_not_the_table_that_is_gone(table, tmp_path):
    at = replace(table.asset, storage=StorageLocation(str(tmp_path / "lake" / "a"), "a"))
    assert DeltaTargetObserver().missing_folder(at) == str(tmp_path / "lake")
    (tmp_path / "lake").mkdir()
    assert DeltaTargetObserver().missing_folder(at) is None
    assert (
        DeltaTargetObserver().missing_folder(replace(at, storage=StorageLocation(f"file://{tmp_path}/sea/a", "a")))
        is not None
    )
    assert DeltaTargetObserver().missing_folder(replace(at, storage=StorageLocation("s3://bucket/a", "a"))) is None
    assert DeltaTargetObserver().missing_folder(replace(at, storage=None)) is None
    shutil.rmtree(table.path)
    assert table.look().kind == "gone"


@pytest.mark.parametrize("timed", [True, False])
def test_a_restore_after_a_segment_left_the_list_loses_the_partitions_of_the_runs_after_it(timed, tmp_path):
    table = Products(tmp_path / "a", timed=timed)
    for drawn in [("nl", 1), ("de", 2), ("nl", 3)][: 3 if timed else 2]:
        table.write(drawn)
    lost = table.parts(*[("de", 2), ("nl", 3)][: 2 if timed else 1])
    time = table.asset.partitioning.time
    table.asset = replace(
        table.asset, partitioning=Partitioning(time, (SegmentPartition("region", ("nl",)),), 1 if timed else 0)
    )
    restore(table, 0)
    found = table.look()
    assert (found.kind, found.lost, found.commits) == ("restored", lost, ())


def test_the_runs_of_an_asset_that_had_another_name_are_its_own(table):
    """An outlet keeps its table where the multi-asset that writes it is called otherwise."""
    table.known = replace(table.known, app_id="journal/b")
    assert table.look() is None
    table.write(4, app="journal/b", record=False)
    restore(table, 0)
    assert table.look() is None  # what is not recorded is settled first


def test_what_a_restore_takes_of_runs_under_another_name_is_lost(table):
    table.known = replace(table.known, app_id="journal/b")
    restore(table, 1)
    assert (table.look().kind, table.look().lost) == ("restored", days("2025-01-03"))


def test_another_project_s_run_of_that_number_is_not_the_one_that_was_seen(table):
    table.known = replace(table.known, app_id="elsewhere/a")
    assert table.look().reason == f"the log of its table at {table.path} was rewritten"


@pytest.mark.parametrize("is_vacuumed", [True, False], ids=["gone", "there"])
def test_a_restore_to_what_needs_a_vacuumed_memory_waits_for_a_person(tmp_path, is_vacuumed):
    table = Table(tmp_path / "a", by=None)
    table.asset = replace(table.asset, write=UpsertWrite(("id",), newest_by=("_at",)))
    memory = table.path / "_sparkassets/remembered"
    for version in range(3):
        write_deltalake(memory, pa.table({"key_id": [version]}), mode="overwrite")
        table.write(1, remembered=version)
    restore(table, 1)
    table.commit(1)
    restore(table, 3)  # which is version 1 again
    if is_vacuumed:
        DeltaTable(memory).vacuum(0, dry_run=False, enforce_retention_duration=False)
    found = table.look()
    entry = build_target_entry(table.asset, AssetState("a", None), found)
    assert (found.kind, found.lost, entry.stuck) == ("restored", EVERYTHING, is_vacuumed)
    if is_vacuumed:
        restored = f"its table at {table.path} was restored to version 3 (RESTORE in version 5)"
        assert found.reason == f"{restored}, and needs version 1 of {memory}, which is gone"
