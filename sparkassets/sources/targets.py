"""What happened to the tables that assets are written to, from the ends of their logs and without a JVM.

A table is known by one commit of its log: the newest that is accounted for. While that file is what it was, the table
is the same one, whatever else has its name; then only the commits after it are read. Otherwise the table is opened.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkassets.core.journal.found import ForeignCommit, Found, FoundKind
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionError, PartitionSet
from sparkassets.core.runs import asset_app
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.log import Commit, DeltaLog, transactions
from sparkassets.errors import SourceError
from sparkassets.files.stores import local_path
from sparkassets.frozen import frozen
from sparkassets.ports import Recorded

if TYPE_CHECKING:
    from deltalake import DeltaTable

_DIGEST_SIZE = 16


class DeltaTargets:
    """Looks at Delta tables by path; implements `ports.TargetObserver`."""

    def absent_folder(self, asset: AssetSpec) -> str | None:
        """The folder on a disk that the asset's table is or would be in, where that is not there; else None."""
        local = None if asset.storage is None else local_path(asset.storage.path)
        if local is None:
            return None
        folder = Path(local).parent
        try:
            folder.stat()
        except (FileNotFoundError, NotADirectoryError):
            return str(folder)
        except OSError:  # which the look itself tells
            return None
        return None

    def why_spark(self, asset: AssetSpec) -> str | None:
        """Why Spark commits to the asset's table as it is now; None where a driver does.

        Raises:
            SourceError: The table cannot be read.
        """
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        from sparkassets.delta.choice import why_spark

        known = why_spark(asset, None)
        if known is None and asset.write is not None and asset.write.by_keys:
            known = "its rows are merged by their keys"
        if known is not None or asset.storage is None:
            return known
        try:
            return why_spark(asset, DeltaTable(asset.storage.path))
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            raise SourceError(f"cannot read the Delta table at '{asset.storage.path}': {error}") from error

    def look(self, asset: AssetSpec, known: Recorded) -> Found | None:
        """What is not as it was recorded; None where everything is.

        Raises:
            SourceError: The table cannot be read.
        """
        if asset.storage is None:
            return None
        try:
            return _Look(asset, asset.storage.path, known, DeltaLog(asset.storage.path)).found()
        except SourceError as error:
            raise _torn(asset.storage.path) or error from error
        except OSError as error:
            raise SourceError(f"cannot read the Delta table at '{asset.storage.path}': {error}") from error


def _torn(path: str) -> SourceError | None:
    """What a power failure did to a table on a disk; None where its log ends with what is whole."""
    from sparkassets.delta.durable import torn

    local = local_path(path)
    broken = [] if local is None else torn(Path(local))
    if not broken:
        return None
    return SourceError(
        f"{broken[0]} is not whole, as a power failure leaves it: move that file away, and what the table has lost "
        "is computed anew"
    )


@frozen
class _Look:
    """One look at one table.

    Attributes:
        former: The application id of the run that was seen, where the asset had another name then.
    """

    asset: AssetSpec
    path: str
    known: Recorded
    log: DeltaLog
    former: str = ""

    def found(self) -> Found | None:
        seen = self.known.seen
        content = self.log.content(seen)
        by = None if content is None else self._seen_by(content)
        if by is not None and by not in ("", self.known.app, self.former):
            return replace(self, former=by).found()
        known = by is not None
        if known:
            commits = self.log.after(seen)
            if commits or self.log.checkpoint() <= seen:
                return self._judge(commits)
        return self._opened(rewritten=content is not None and not known)

    def _opened(self, *, rewritten: bool) -> Found | None:
        """The same with the table opened; ``rewritten`` where the version that was seen is there, but another one."""
        table = self._table()
        if table is None:
            return Found("gone", f"its table at {self.path} is gone", EVERYTHING)
        found, seen = table.version(), self.known.seen
        if str(table.metadata().id) != self.known.table_id:
            return self._all_lost("replaced", f"another table stands at {self.path} now", table)
        if found < self.known.version:
            reason = f"its table at {self.path} went back from version {self.known.version} to {found}"
            return self._all_lost("restored", reason, table)
        if rewritten:
            return self._all_lost("restored", f"the log of its table at {self.path} was written anew", table)
        commits = self.log.after(seen)
        if len(commits) >= found - seen:
            return self._judge(commits) if commits else None
        lacking = f"something (the log no longer tells what came after version {seen})"
        gap = ForeignCommit(found, lacking, None, self.all_of_it)
        return Found(
            "changed", "", table_id=self.known.table_id, version=found, mark=self.marked(found), commits=(gap,)
        )

    def _all_lost(self, kind: FoundKind, reason: str, table: DeltaTable) -> Found:
        version = table.version()
        return Found(kind, reason, EVERYTHING, str(table.metadata().id), version, self.marked(version))

    # ------------------------------------------------------------------ the commits since

    def _judge(self, commits: Sequence[Commit]) -> Found | None:
        """What the commits after the version seen did, up to the first of a run that is not recorded yet."""
        since = _Since(self, self.known.seen, self.known.table_id)
        for commit in commits:
            if not since.take(commit):
                break
        return since.found()

    def is_own(self, commit: Commit) -> bool:
        """Whether a run of the asset made it."""
        return any(asset_app(app) in (self.known.app, self.former) for app in commit.apps)

    def is_asked(self, commit: Commit) -> bool:
        """Whether a run made it of which a person tells what became of it."""
        return bool(self.known.asked) and self.is_own(commit) and _told(commit).get("run") in self.known.asked

    def is_ours(self, commit: Commit) -> bool:
        """Whether a run of the project made it: others may append to the same table."""
        project = self.known.app.rpartition("/")[0] + "/"
        return any(app.startswith(project) for app in commit.apps)

    def blocks(self, commit: Commit) -> PartitionSet:
        """What a run of the asset computed by its commit; everything where that cannot be told."""
        partitioning = self.asset.partitioning
        if not partitioning.is_partitioned:
            return EVERYTHING
        try:
            return PartitionSet.union(partitioning.parse(label, recorded=True) for label in _told(commit)["blocks"])
        except (KeyError, TypeError, PartitionError):
            return EVERYTHING

    def watermarks(self, version: int) -> Mapping[str, str] | None:
        """What the newest run of the asset up to a version had reached; None where the log does not tell."""
        while version >= 0:
            content = self.log.content(version)
            if content is None:
                return None
            commit = self.log.parsed(version, content)
            if self.is_own(commit) and (told := _told(commit)).get("kind") == "data":
                return dict(told.get("measures", {}).get("watermarks", {}))
            version -= 1
        return {}

    @property
    def all_of_it(self) -> PartitionSet:
        """All that was computed; everything of an asset without partitions."""
        return self.known.coverage if self.asset.partitioning.is_partitioned else EVERYTHING

    def touched(self, commit: Commit) -> PartitionSet:
        """The computed partitions whose rows it changed; all of them where that cannot be told."""
        if not self.asset.partitioning.is_partitioned:
            return self.all_of_it
        parts = self._held(commit)
        return self.all_of_it if parts is None else self.asset.partitioning.cover(parts) & self.known.coverage

    def _held(self, commit: Commit) -> PartitionSet | None:
        """What the files of a commit may hold of what was computed; None where that is not told."""
        from sparkassets.delta.columns import told_by
        from sparkassets.delta.parts import FileParts

        table = self._table(commit.version)
        columns = None if table is None else told_by(table.schema().to_json(), self.asset.partitioning)
        if columns is None:
            return None
        told = FileParts.of(columns, self.asset.partitioning)
        found = {file.path: told.of_action(file.partition or {}, file.stats) for file in commit.files}
        if not all(part.is_told for part in found.values()):
            before = self._table(commit.version - 1)
            adds = {} if before is None else told.of_live(before.get_add_actions(flatten=True))
            found = {path: part if part.is_told else adds.get(path, part) for path, part in found.items()}
        return PartitionSet.union([told.within(part, self.known.coverage) for part in found.values()])

    # ------------------------------------------------------------------ reading

    def _table(self, version: int | None = None) -> DeltaTable | None:
        """The table, at that version where one is given; None where there is none."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            return DeltaTable(self.path, version=version)
        except TableNotFoundError:
            return None
        except DeltaError as error:
            if version is not None:
                return None
            raise SourceError(f"cannot read the Delta table at '{self.path}': {error}") from error

    def marked(self, version: int) -> str | None:
        """The mark of a version that is accounted for now."""
        content = self.log.content(version)
        return None if content is None else _digest(content)

    def _seen_by(self, content: bytes) -> str | None:
        """Whose run made the commit, by its application id, if it is the one that was seen; None where it is not.

        Where it is known by its content nobody is told. Tokens are numbers of the journal, so that no two are alike,
        whatever the asset was called by then.
        """
        mark = self.known.mark
        if mark.startswith("epoch:"):
            project = self.known.app.rpartition("/")[0] + "/"
            ours = {app: version for app, version in transactions(content).items() if app.startswith(project)}
            return next((asset_app(app) for app, version in ours.items() if mark == f"epoch:{version // 2}"), None)
        return "" if mark == _digest(content) else None


@dataclass(slots=True, eq=False, repr=False)
class _Since:
    """What is gathered from one commit after the other.

    Attributes:
        version, table_id: After the last commit that was taken.
        lost: Everything where it cannot be told what of it.
    """

    look: _Look
    version: int
    table_id: str
    kind: FoundKind = "moved"
    reason: str = ""
    lost: PartitionSet = NOTHING
    watermarks: Mapping[str, str] | None = None
    commits: list[ForeignCommit] = field(default_factory=list)

    def take(self, commit: Commit) -> bool:
        """Takes the commit, unless a run made it that is not recorded yet: the protocol of runs settles that first."""
        look = self.look
        own = look.is_own(commit)
        if look.is_asked(commit):
            self.version = commit.version
            return True
        if own and commit.version > look.known.version and _told(commit).get("kind") == "data":
            return False
        if commit.metadata is not None and commit.metadata["id"] != self.table_id:
            self.table_id = commit.metadata["id"]
            self._lose(EVERYTHING, "replaced", f"another table stands at {look.path} now ({_who(commit)})")
        elif own:
            self._write(look.blocks(commit))
        elif look.is_ours(commit):
            pass
        elif commit.operation == "RESTORE":
            self._restore(commit)
        elif commit.files:
            self._change(commit, look.touched(commit))
        self.version = commit.version
        return True

    def found(self) -> Found | None:
        if self.version == self.look.known.seen:
            return None
        lost = bool(self.lost)
        kind = self.kind if lost else "changed" if self.commits else "moved"
        return Found(
            kind,
            self.reason if lost else "",
            self.lost,
            self.table_id,
            self.version,
            self.look.marked(self.version),
            self.watermarks,
            tuple(self.commits),
        )

    def _lose(self, lost: PartitionSet, kind: FoundKind, reason: str) -> None:
        self.lost = self.lost | lost
        self.kind, self.reason = kind, reason

    def _change(self, commit: Commit, blocks: PartitionSet) -> None:
        at = commit.timestamp // 1000 if commit.timestamp is not None else None
        self.commits.append(ForeignCommit(commit.version, commit.operation or "a commit", at, blocks))

    def _write(self, blocks: PartitionSet) -> None:
        """A recorded run wrote its blocks anew; where it cannot be told which, what is known of the others stays."""
        if not blocks.is_everything and not self.lost.is_everything:
            self.lost = self.lost - blocks
            left = (replace(each, blocks=each.blocks - blocks) for each in self.commits)
            self.commits = [each for each in left if each.blocks]

    def _restore(self, commit: Commit) -> None:
        """What runs wrote after the version that the table was restored to is gone, and what others changed since."""
        look, to = self.look, _restored_to(commit)
        undone = look.log.after(to)[: commit.version - to - 1] if to is not None else []
        known = to is not None and len(undone) == commit.version - to - 1
        which = f"version {to}" if to is not None else "an earlier version"
        reason = f"its table at {look.path} was restored to {which} ({_who(commit)})"
        if not known:
            self._lose(look.touched(commit), "restored", reason)
            return
        own = [
            each
            for each in undone
            if look.is_own(each) and not look.is_asked(each) and _told(each).get("kind") == "data"
        ]
        blocks = [look.blocks(each) for each in own]
        gone = PartitionSet.union(each for each in blocks if not each.is_everything)
        if own:
            self._lose(PartitionSet.union(blocks), "restored", reason)
            self.watermarks = look.watermarks(to or 0)
        if any(each.files and not look.is_ours(each) for each in undone):
            self._change(commit, look.touched(commit) - gone)


def _told(commit: Commit) -> Mapping[str, Any]:
    """What a commit of a run says of itself."""
    try:
        told = json.loads(commit.told or "null")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _who(commit: Commit) -> str:
    return f"{commit.operation or 'a commit'} in version {commit.version}"


def _restored_to(commit: Commit) -> int | None:
    version = str(commit.parameters.get("version"))
    return int(version) if version.isdecimal() else None


def _digest(content: bytes) -> str:
    return f"content:{blake2b(content, digest_size=_DIGEST_SIZE).hexdigest()}"
