"""Judges the commits to a target's table since it was recorded, from a log or a catalog's history."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sparkassets.core.journal.table_findings import FindingKind, ForeignCommit, TableFinding
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionError, PartitionSet
from sparkassets.core.runs import asset_app
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.log import LogCommit
from sparkassets.delta.scratch_folders import REMEMBERED
from sparkassets.errors import SourceError, UnknownRunError
from sparkassets.frozen import frozen
from sparkassets.ports import RecordedTable, UnrecordedChain

MOST_COMMITS_CHECKED: Final = 20
"""The newest commits of an unrecorded table that are checked; one of the asset's own would be among them."""


@frozen
class CommitInspector(ABC):
    """Inspects the commits of one table.

    Attributes:
        known: The table as recorded.
        former_app_id: The application id of the run that was seen, where the asset had another name then; else empty.
    """

    asset: AssetSpec
    known: RecordedTable
    former_app_id: str

    @property
    @abstractmethod
    def table_named(self) -> str:
        """The table as a phrase, such as ``its table at /lake/a``."""

    @property
    @abstractmethod
    def place_named(self) -> str:
        """Its place as a phrase, as in ``another table stands …``."""

    @abstractmethod
    def commits_after(self, version: int) -> Sequence[LogCommit]:
        """The commits after a version, as far as they are known."""

    @abstractmethod
    def find_commit(self, version: int) -> LogCommit | None:
        """The commit of a version; None where it is unknown."""

    @abstractmethod
    def find_partitions(self, commit: LogCommit) -> PartitionSet | None:
        """Computed partitions that a commit's files may hold; None where unknown."""

    @abstractmethod
    def read_mark(self, version: int) -> str | None:
        """The mark of the newest accounted version."""

    @abstractmethod
    def describe_lost_memory(self, version: int) -> str:
        """What an upsert remembered in a version of its memory, where that is gone, as a phrase; else empty."""

    def judge_commits(self, commits: Sequence[LogCommit]) -> TableFinding | None:
        """The effect of the commits after the seen version, up to the first unrecorded run."""
        collector = _CommitCollector(self, self.known.accounted_version, self.known.table_id)
        for commit in commits:
            if not collector.add_commit(commit):
                break
        return collector.build_result()

    def judge_gap(self, version: int) -> TableFinding:
        """The finding where commits up to a version are unknown."""
        description = (
            f"an unknown change (the log no longer has the commits after version {self.known.accounted_version})"
        )
        gap = ForeignCommit(version, description, None, self.computed_partitions)
        return TableFinding(
            "changed", "", table_id=self.known.table_id, version=version, mark=self.read_mark(version), commits=(gap,)
        )

    def is_own(self, commit: LogCommit) -> bool:
        """Whether a run of the asset made the commit."""
        return any(asset_app(app) in (self.known.app_id, self.former_app_id) for app in commit.transactions)

    def is_settled(self, commit: LogCommit) -> bool:
        """Whether the commit is of a run that a person has settled."""
        return (
            bool(self.known.settled_runs)
            and self.is_own(commit)
            and _read_run_metadata(commit).get("run") in self.known.settled_runs
        )

    def is_unsettled_data(self, commit: LogCommit) -> bool:
        """Whether the commit has data of a run of the asset that no person has settled."""
        return self.is_own(commit) and not self.is_settled(commit) and _read_run_metadata(commit).get("kind") == "data"

    def check_claimed(self, commit: LogCommit) -> None:
        """Checks that an unrecorded own run is claimed.

        Raises:
            UnknownRunError: It is not.
        """
        refuse_unknown(
            _read_run_metadata(commit), commit.version, claimed=self.known.claimed_runs, place=self.place_named
        )

    def is_ours(self, commit: LogCommit) -> bool:
        """Whether a run of the project made the commit: other assets may append to the same table."""
        project = self.known.app_id.rpartition("/")[0] + "/"
        return any(app.startswith(project) for app in commit.transactions)

    def find_written_partitions(self, commit: LogCommit) -> PartitionSet:
        """The partitions that a run's commit computed; all where unknown."""
        partitioning = self.asset.partitioning
        if not partitioning.is_partitioned:
            return EVERYTHING
        try:
            return PartitionSet.union(
                partitioning.parse(label, recorded=True) for label in _read_run_metadata(commit)["partitions"]
            )
        except (KeyError, TypeError, PartitionError):
            return EVERYTHING

    def read_watermarks(self, version: int) -> Mapping[str, str] | None:
        """The watermarks of the asset's newest run up to a version; None where unknown."""
        while version >= 0:
            commit = self.find_commit(version)
            if commit is None:
                return None
            if self.is_own(commit) and (stamp := _read_run_metadata(commit)).get("kind") == "data":
                return dict(stamp.get("measures", {}).get("watermarks", {}))
            version -= 1
        return {}

    def find_remembered(self, version: int) -> int | None:
        """The version of an upsert's memory that its newest run in a version of the table names; None without one.

        Runs that a RESTORE undid do not count.
        """
        if self.asset.write is None or not self.asset.write.by_keys:
            return None
        while version >= 0 and (commit := self.find_commit(version)) is not None:
            if self.is_own(commit) and (stamp := _read_run_metadata(commit)).get("kind") == "data":
                named = stamp.get("measures", {}).get(REMEMBERED)
                return int(named) if named is not None else None
            restored_version = _parse_restored_version(commit) if commit.operation == "RESTORE" else None
            version = version - 1 if restored_version is None else restored_version
        return None

    @property
    def computed_partitions(self) -> PartitionSet:
        """All computed partitions; everything for an asset without partitions."""
        return self.known.coverage if self.asset.partitioning.is_partitioned else EVERYTHING

    def find_touched_partitions(self, commit: LogCommit) -> PartitionSet:
        """The computed partitions whose rows the commit changed; all where unknown."""
        if not self.asset.partitioning.is_partitioned:
            return self.computed_partitions
        parts = self.find_partitions(commit)
        return self.computed_partitions if parts is None else self.asset.partitioning.cover(parts) & self.known.coverage


class _CommitCollector:
    """Accumulates the effect of one commit after the other.

    Attributes:
        version, table_id: After the last commit taken.
        lost: The lost partitions; everything where unknown.
        lost_memory: Why no upsert can go on after the last RESTORE; empty where one can.
    """

    def __init__(self, inspector: CommitInspector, version: int, table_id: str) -> None:
        self.inspector, self.version, self.table_id = inspector, version, table_id
        self.kind: FindingKind = "moved"
        self.reason, self.lost = "", NOTHING
        self.watermarks: Mapping[str, str] | None = None
        self.commits: list[ForeignCommit] = []
        self.lost_memory = ""

    def add_commit(self, commit: LogCommit) -> bool:
        """Takes the commit and returns True; False, without taking it, for an unrecorded run of the asset.

        The run protocol must settle such a run first, so the commits from there on wait for a later look.
        """
        inspector = self.inspector
        is_own = inspector.is_own(commit)
        if inspector.is_settled(commit):
            self.version = commit.version
            return True
        if commit.version > inspector.known.version and inspector.is_unsettled_data(commit):
            inspector.check_claimed(commit)
            return False
        if commit.metadata is not None and commit.metadata["id"] != self.table_id:
            self.table_id, self.lost_memory = commit.metadata["id"], ""
            self._add_loss(
                EVERYTHING,
                "replaced",
                f"its table {inspector.place_named} was replaced by another ({_describe_commit(commit)})",
            )
        elif is_own:
            self.lost_memory = "" if inspector.is_unsettled_data(commit) else self.lost_memory
            self._settle_partitions(inspector.find_written_partitions(commit))
        elif inspector.is_ours(commit):
            pass
        elif commit.operation == "RESTORE":
            self._add_restore(commit)
        elif commit.files:
            self._add_foreign_commit(commit, inspector.find_touched_partitions(commit))
        self.version = commit.version
        return True

    def build_result(self) -> TableFinding | None:
        """What all taken commits together mean; None if the table is still at the accounted version.

        The kind says how rows were lost, if any were. Otherwise ``changed`` means that others changed rows, and
        ``moved`` that only the version advanced.
        """
        if self.version == self.inspector.known.accounted_version:
            return None
        if self.lost_memory:
            self._add_loss(EVERYTHING, "restored", self.lost_memory)
        has_losses = bool(self.lost)
        kind = self.kind if has_losses else "changed" if self.commits else "moved"
        return TableFinding(
            kind,
            self.reason if has_losses else "",
            self.lost,
            self.table_id,
            self.version,
            self.inspector.read_mark(self.version),
            self.watermarks,
            tuple(self.commits),
            stuck=bool(self.lost_memory),
        )

    def _add_loss(self, lost: PartitionSet, kind: FindingKind, reason: str) -> None:
        self.lost = self.lost | lost
        self.kind, self.reason = kind, reason

    def _add_foreign_commit(self, commit: LogCommit, partitions: PartitionSet) -> None:
        at = commit.timestamp // 1000 if commit.timestamp is not None else None
        self.commits.append(ForeignCommit(commit.version, commit.operation or "a commit", at, partitions))

    def _settle_partitions(self, partitions: PartitionSet) -> None:
        """Removes the partitions that a recorded run wrote from the lost and changed ones: its rows are as recorded.

        Does nothing if it is unknown which it wrote.
        """
        if not partitions.is_everything and not self.lost.is_everything:
            self.lost = self.lost - partitions
            remaining = (replace(each, partitions=each.partitions - partitions) for each in self.commits)
            self.commits = [each for each in remaining if each.partitions]

    def _add_restore(self, commit: LogCommit) -> None:
        """Accounts for a RESTORE: partitions written by runs after the restored version are lost.

        Rows that others changed after that version have changed once more. If the commits in between are unknown, all
        computed partitions that the restore touched count as lost.
        """
        inspector, restored_version = self.inspector, _parse_restored_version(commit)
        described = f"version {restored_version}" if restored_version is not None else "an earlier version"
        reason = f"{inspector.table_named} was restored to {described} ({_describe_commit(commit)})"
        remembered = None if restored_version is None else inspector.find_remembered(restored_version)
        lost_memory = "" if remembered is None else inspector.describe_lost_memory(remembered)
        self.lost_memory = f"{reason}, and needs {lost_memory}" if lost_memory else ""
        undone_commits = None if restored_version is None else self._commits_between(restored_version, commit.version)
        if restored_version is None or undone_commits is None:
            self._add_loss(inspector.find_touched_partitions(commit), "restored", reason)
            return
        own_commits = [each for each in undone_commits if inspector.is_unsettled_data(each)]
        partitions = [inspector.find_written_partitions(each) for each in own_commits]
        lost = PartitionSet.union(each for each in partitions if not each.is_everything)
        if own_commits:
            self._add_loss(PartitionSet.union(partitions), "restored", reason)
            self.watermarks = inspector.read_watermarks(restored_version)
        if any(each.files and not inspector.is_ours(each) for each in undone_commits):
            self._add_foreign_commit(commit, inspector.find_touched_partitions(commit) - lost)

    def _commits_between(self, first: int, last: int) -> Sequence[LogCommit] | None:
        """The commits between two versions; None if the log lacks some."""
        commits = self.inspector.commits_after(first)[: last - first - 1]
        return commits if len(commits) == last - first - 1 else None


def check_unrecorded(asset: AssetSpec, commit: Mapping[str, Any], *, chain: UnrecordedChain, place: str) -> None:
    """Checks that one commit of a table that the journal does not record does not forbid a run.

    Args:
        asset: The table's asset.
        commit: Its ``commitInfo``, with ``version``.
        chain: What the journal has of the asset.
        place: Where the table is, such as ``at /lake/a``.

    Raises:
        UnknownRunError: The commit is of a run of this journal that is not claimed.
        SourceError: It is of the asset by another journal, the asset appends, and no person has marked what is there.
    """
    stamp, version = parse_run_metadata(commit), commit["version"]
    if stamp.get("kind") != "data":
        return
    journal, _, name = asset_app(str(stamp.get("app"))).partition("/")
    own_journal, _, own_name = chain.app.partition("/")
    if (journal, name) == (own_journal, own_name):
        refuse_unknown(stamp, version, claimed=chain.claimed, place=place)
    elif name == own_name and asset.appends and not chain.is_marked:
        message = (
            f"{own_name} appended to its table {place} under another state (version {version}, run "
            f"{stamp.get('run')}); a run would duplicate these rows"
        )
        hint = f"restore that state, mark the rows in the table (mark {own_name} --done), or use a new table"
        raise SourceError(message, hint=hint)


def refuse_unknown(stamp: Mapping[str, Any], version: int, *, claimed: Collection[str], place: str) -> None:
    """Refuses a commit of a run of the asset that is not claimed.

    Args:
        stamp: The commit's stamp.
        version: Of the table.
        claimed: Runs that are claimed and not recorded.
        place: Where the table is.

    Raises:
        UnknownRunError: It is one.
    """
    run, token = stamp.get("run"), stamp.get("epoch")
    if isinstance(run, str) and isinstance(token, int) and run not in claimed:
        raise UnknownRunError(f"version {version} of its table {place} is by {run}", run=run, token=token)


def parse_run_metadata(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """The stamp of a run's commit, from its ``commitInfo``; empty for other commits."""
    return _parse_json_object(str(info.get("userMetadata") or ""))


def _read_run_metadata(commit: LogCommit) -> Mapping[str, Any]:
    """The stamp of a run's commit."""
    return _parse_json_object(commit.user_metadata)


def _parse_json_object(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text or "null")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _describe_commit(commit: LogCommit) -> str:
    return f"{commit.operation or 'a commit'} in version {commit.version}"


def _parse_restored_version(commit: LogCommit) -> int | None:
    version = str(commit.parameters.get("version"))
    return int(version) if version.isdecimal() else None
