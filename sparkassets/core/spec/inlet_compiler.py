"""Compiles the options of one inlet: which partitions it must bring, how it is read, what its updates do."""

from __future__ import annotations

from typing import Final

from sparkassets.core.instants import Duration, InstantError
from sparkassets.core.partitions import (
    Dependency,
    NamedMapping,
    NewestMapping,
    OverlapMapping,
    PartitionError,
    Partitioning,
    PartitionMapping,
    RangeSet,
    WholeMapping,
    WindowMapping,
    match_by_column,
)
from sparkassets.core.phrases import listing
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.inlet_models import InletMap, ReadMap, RequireMap
from sparkassets.core.spec.model import (
    InletSpec,
    OnRemoved,
    OnUpdate,
    PartitionRequirement,
    ReadAfter,
    ReadChanges,
    ReadMode,
)
from sparkassets.core.spec.partition_mappings import DeclaredMapping, MappedAsset, read_mapping
from sparkassets.core.spec.time_bounds import fixed_seconds
from sparkassets.core.spec.value_views import compile_view, from_column, view_identity
from sparkassets.core.spec.write_models import WriteMap
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import KnownColumns
from sparkassets.errors import FileLocation
from sparkassets.frozen import replace

_SAMPLE: Final = RangeSet.span(1_704_067_200, 1_735_689_600)
"""2024: the longest partition of every grain lies in it, or in the 400 partitions that are looked at."""


_SAMPLED_PARTITIONS: Final = 400


_PARTITION_KEYS: Final = ("partition", "timezone", "start", "end", "path", "table")


_NO_TABLE: Final = {"events": "is known only by its events", "tables": "stands for several"}
"""Why a source has no changes to be read, by its kind; of files their kind says it."""


class InletCompiler:
    """Compiles one inlet of ``draft``, the asset ``other``.

    ``at`` is the place of its options, or for an inlet without any a key that its defaults depend on. ``columns`` are
    the inlet's, None if they are unknown.
    """

    def __init__(
        self, draft: AssetDraft, other: AssetDraft, options: InletMap, at: DocumentPlace, columns: KnownColumns | None
    ) -> None:
        self.draft = draft
        self.other = other
        self.options = options
        self.at = at
        self.columns = columns

    def compile(self, *, waits_only: bool, location: FileLocation) -> InletSpec:
        """The inlet; options that do not fit become problems.

        ``waits_only`` says that the code does not read the inlet; ``location`` is where it is named.
        """
        options = self.options
        column = from_column(options.partitions)
        need, view = self._compile_need(column)
        is_aligned = options.partitions == "aligned"
        if not waits_only and not is_aligned and column is None:
            self._refuse_missing_partition_column(need, location)
        self._check_window(need)
        return InletSpec(
            name=self.other.name,
            uri=self.other.uri if view is None else view_identity(self.other.name, view),
            view=view,
            mapping=None if is_aligned else need.mapping,
            matches=need.matches,
            require=self._compile_require(need) if column is None else self._require_values(),
            read=self._compile_read(waits_only=waits_only),
            on_update=options.on_update or self._find_on_update(need),
            waits_only=waits_only,
            aligned=is_aligned,
            fresh_within=self._compile_duration("fresh_within", options.fresh_within),
            tolerance=self._compile_duration("tolerance", options.tolerance),
            settle_seconds=self._compile_settle(),
            on_removed=options.on_removed or self._find_on_removed(),
            location=location,
        )

    @property
    def _are_partitions_reliable(self) -> bool:
        return self.draft.are_reliable(*_PARTITION_KEYS) and self.other.are_reliable(*_PARTITION_KEYS)

    def _compile_need(self, column: str | None) -> tuple[Dependency, Partitioning | None]:
        """Which partitions of the inlet each partition of the asset requires.

        With ``column``, partitions are mapped by the values of that column of the inlet, and its view is returned, too;
        otherwise None in its place. Where partitions are wrong themselves, nothing is mapped.
        """
        down, up = self.draft.partitioning, self.other.partitioning
        if not self._are_partitions_reliable:
            return Dependency(None, down, up), None
        if column is None:
            return self._compile_dependency(down, up), None
        view = self._compile_view(column)
        if view is None:
            return Dependency(None, down, up), None
        return Dependency(self._compile_mapping(), down, view[0], view[1].matches), view[0]

    def _check_window(self, need: Dependency) -> None:
        """Refuses `window` beside partitions that it cannot widen."""
        partitions = self.options.partitions
        if self.options.window is not None and (
            partitions == "aligned" or isinstance(need.mapping, WholeMapping | NewestMapping | NamedMapping)
        ):
            partitions_text = partitions if isinstance(partitions, str) else "…"
            (self.at / "window").add_key_problem(f"'window' and 'partitions: {partitions_text}' exclude each other")

    def _find_on_update(self, need: Dependency) -> OnUpdate:
        """What updates of the inlet do by default: make what was computed from it stale (``rerun``), or nothing.

        Ignored are updates of an aligned inlet, which is read tick by tick. For an asset with time, so are those of an
        inlet without time, or of which only the newest partition is read: each would make all partitions stale.
        """
        if self.options.partitions == "aligned":
            return "ignore"
        if self.draft.partitioning.time is None or self.draft.keys.strategy == "full_refresh":
            return "rerun"
        if from_column(self.options.partitions) is not None or not self._are_partitions_reliable:
            return "rerun"
        return "ignore" if self.other.partitioning.time is None or need.goes_by_newest else "rerun"

    def _compile_read(self, *, waits_only: bool) -> ReadMode | None:
        """How the inlet is read incrementally; None where all mapped partitions are read."""
        options, at = self.options.read, self.at / "read"
        if options is None:
            return None
        if waits_only and self.draft.are_reliable("sql", "python"):
            at.add_key_problem(f"the options of {self.other.name!r} have no effect: the code does not read it")
        if isinstance(self.options.partitions, list) or self.options.partitions == "latest":
            at.add_key_problem("'read' takes all new rows and excludes 'partitions'", hint="leave one out")
        if isinstance(options, ReadMap):
            if refusal := self._refuse_watermark(options.after):
                (at / "after").add_problem(refusal[0], hint=refusal[1])
            overlap = None if options.overlap is None else self._require_positive(at / "overlap", options.overlap)
            return ReadAfter(options.after, overlap)
        self._check_changes(at)
        return ReadChanges()

    def _check_changes(self, at: DocumentPlace) -> None:
        """Refuses `read: changes` of what has none, or beside aligned partitions."""
        source = self.other.source
        if source is not None and source.kind != "delta" and self.other.are_reliable("source", "path", "table"):
            kind_text = _NO_TABLE.get(source.kind, f"is {source.kind} files")
            message = f"'read: changes' needs a Delta table, but asset {self.other.name!r} {kind_text}"
            at.add_problem(message, hint=self._suggest_read(source.kind))
        if self.options.partitions == "aligned":
            at.add_key_problem(
                "'read: changes' and 'partitions: aligned' exclude each other: aligned reads all rows of one run"
            )

    def _refuse_watermark(self, column: str) -> tuple[str, str | None] | None:
        """The problem with ``read: {after: column}``, and a hint; None where the column exists or may exist.

        A name with a dot is refused unless a column is really called so: it would be a field of another column.
        """
        refusal = self.columns.find_problem(column) if self.columns else None
        if "." not in column or (self.columns and refusal is None):
            return refusal
        hint = f"flatten it in an asset before: SELECT {column} AS {column.rpartition('.')[2]}, …"
        return f"'after' is {column!r}; expected a column of its own, not a field of another", hint

    def _suggest_read(self, kind: str) -> str:
        """What to do instead of `read: changes` of a source without changes: `after` loses late rows of an upsert."""
        if kind == "events":
            return "leave 'read' out"
        write = self.draft.keys.write
        if isinstance(write, WriteMap) and write.upsert is not None and write.upsert.newest_by is not None:
            return "put an asset that selects its rows in between; {after: <column>} would lose late rows"
        return f"read: {{after: <column>}} reads new rows of {'tables' if kind == 'tables' else 'files'}"

    def _compile_view(self, column: str) -> tuple[Partitioning, DeclaredMapping] | None:
        """The view that the column's values form, with the mapping to it; None, with a problem, if impossible."""
        at = self.at / "partitions"
        if self.options.read:
            (self.at / "read").add_key_problem("'read' and 'partitions: {from: …}' exclude each other")
        return compile_view(at / "from", column, self.draft, self.other, columns=self.columns)

    def _require_values(self) -> PartitionRequirement:
        """The requirement of an inlet that is mapped by value; a number of partitions becomes a problem.

        A partition is wanted as soon as rows of it exist, so nothing can be counted beforehand.
        """
        require = self.options.require
        if require in (None, "any", "none"):
            return PartitionRequirement(require or "any")
        (self.at / "require").add_problem(
            "'require' has no effect with 'partitions: {from: …}': a partition is wanted once it has rows",
            hint="leave it out",
        )
        return PartitionRequirement("any")

    def _compile_dependency(self, down: Partitioning, up: Partitioning) -> Dependency:
        """Which partitions of the inlet each partition of the asset requires, by time and by segments."""
        declared, at = DeclaredMapping(), self.at / "partitions"
        if self.options.partitions not in (None, "aligned"):
            one_for_all = self.options.partitions == "latest" or isinstance(self.options.partitions, list)
            if up.is_partitioned and (down.is_partitioned or one_for_all):
                sides = MappedAsset(self.draft.name, down), MappedAsset(self.other.name, up)
                declared = read_mapping(at, self.options.partitions, *sides)
            else:
                unpartitioned = self.draft if up.is_partitioned else self.other
                at.add_key_problem(f"'partitions' maps partitions, but asset {unpartitioned.name!r} has none")
        need = Dependency(declared.time or OverlapMapping(), down, up, declared.matches)
        if need.is_mapped:
            need = replace(need, mapping=declared.time or self._compile_mapping())
            self._check_mapped(need)
        else:
            need = Dependency(None, down, up)
            self._check_unmapped()
        self._check_window_time(down, up)
        self._warn_of_different_segments(need)
        return need

    def _compile_duration(self, key: str, text: str | None) -> Duration | None:
        return None if text is None else self._require_positive(self.at / key, text)

    def _require_positive(self, at: DocumentPlace, text: str) -> Duration | None:
        """The duration; None where it is not above 0, which becomes a problem."""
        duration = Duration.parse(text)
        if max(duration.months, duration.days, duration.seconds) <= 0:
            at.add_problem(f"{at.path[-1]!r} is {text!r}; expected a positive duration")
            return None
        return duration

    def _compile_settle(self) -> int:
        """How many seconds an update must be old before it counts: the inlet's own, else what its source asks.

        0 for a source of files: observing it already holds back files that still change.
        """
        if self.options.settle is not None:
            return fixed_seconds(self.at / "settle", self.options.settle, positive=False)
        source = self.other.source
        return source.settle_seconds if source and source.kind in ("delta", "tables", "events") else 0

    def _find_on_removed(self) -> OnRemoved:
        """What removed inlet partitions do by default.

        Files are usually deleted because their retention is over, so results stay; rows are deleted on purpose, so
        results are computed again.
        """
        source = self.other.source
        return "keep" if source and source.files is not None else "rerun"

    def _compile_mapping(self) -> PartitionMapping | None:
        """How time maps: by overlap, or by `window`; None where that is wrong, which becomes a problem."""
        window = self.options.window
        try:
            if window is None:
                return OverlapMapping()
            if isinstance(window, str):
                return WindowMapping.trailing(Duration.parse(window))
            low, high = window
            return WindowMapping(Duration.parse(low), Duration.parse(high))
        except (PartitionError, InstantError) as error:
            (self.at / "window").add_problem(str(error.args[0]), hint=error.hint)
            return None

    def _check_mapped(self, need: Dependency) -> None:
        """Refuses assets whose partitions have no segment, or no time, in common: no run would ever find its inlet."""
        if need.mapping is None or not self.draft.are_reliable("inlets"):
            return
        learns = need.consumer.is_open or need.inlet.is_open
        if not learns and not need.required_partitions(need.consumer.known_partitions).overlaps(
            need.inlet.known_partitions
        ):
            message = f"{self.draft.name!r} and {self.other.name!r} have no segment in common"
            self.at.add_key_problem(message, hint="compare the segments of both assets")
        elif need.tells_time and need.consumer.time and need.inlet.time and not _can_times_meet(need):
            message = (
                f"no partition of {self.draft.name!r} between its start and end maps to one of {self.other.name!r}"
            )
            self.at.add_key_problem(message, hint="compare start and end of both assets")

    def _refuse_missing_partition_column(self, need: Dependency, location: FileLocation) -> None:
        """Refuses an inlet whose single partitions cannot be read, because no column of its rows tells them apart."""
        if self.other.source is not None or need.mapping is None or need.inlet.has_columns:
            return
        name = self.other.name
        self.draft.at.document.problems.append(
            self.draft.at.document.file.problem(
                location.line,
                location.column,
                f"asset {name!r} has no partition column, so its partitions cannot be read separately",
                hint=f"add a column to the partition of {name!r}, or write 'partition: none' in {self.draft.name!r}",
            )
        )

    def _check_window_time(self, down: Partitioning, up: Partitioning) -> None:
        """Refuses `window` without time on both sides."""
        timeless = [each for each in (self.draft, self.other) if each.partitioning.time is None]
        if self.options.window is not None and timeless and down.is_partitioned and up.is_partitioned:
            message = f"'window' maps time partitions, but asset {timeless[0].name!r} is not partitioned by time"
            (self.at / "window").add_key_problem(message)

    def _warn_of_different_segments(self, need: Dependency) -> None:
        """Warns where segments of both sides have no column in common."""
        down, up = need.consumer, need.inlet
        if down.segments and up.segments and need.matches is None and not match_by_column(down, up):
            ours, theirs = (listing([each.column for each in one.segments], last="and") for one in (down, up))
            message = (
                f"{self.draft.name!r} has segments by {ours}, {self.other.name!r} by {theirs}: each partition "
                f"reads all segments of {self.other.name!r}"
            )
            same = f"partitions: {{{down.segments[0].column}: {up.segments[0].column}}}"
            self.at.add_warning(message, hint=f"dimensions match by column; write `{same}` if both mean the same")

    def _check_unmapped(self) -> None:
        """Refuses options about mapped partitions if an asset has no partitions, or both share no dimension."""
        bare = next((each for each in (self.draft, self.other) if not each.partitioning.is_partitioned), None)
        if bare is not None:
            why = f"but asset {bare.name!r} has none"
        else:
            why = f"but {self.draft.name!r} and {self.other.name!r} share no dimension"
        if self.options.window is not None and bare is not None:  # else `_check_window_time` refuses it
            (self.at / "window").add_key_problem(f"'window' maps partitions, {why}")
        if self.options.on_removed is not None:
            (self.at / "on_removed").add_key_problem(f"'on_removed' concerns mapped partitions, {why}")
        require = self.options.require
        if isinstance(require, RequireMap) or (require == "all" and self.other.partitioning.is_partitioned):
            (self.at / "require").add_key_problem(f"'require' counts mapped partitions, {why}")

    def _compile_require(self, need: Dependency) -> PartitionRequirement:
        """How many of the inlet partitions in ``need`` must be present before a run may start.

        By default all of them; any one, if an asset without partitions reads a whole partitioned inlet, whose
        partitions nobody can count in advance. More than can ever map to one partition of the asset is a problem.
        """
        require = self.options.require
        if not isinstance(require, RequireMap):
            reads_all = not need.consumer.is_partitioned and need.inlet.is_partitioned
            counts = not reads_all or isinstance(need.mapping, NamedMapping)
            return PartitionRequirement(require or ("all" if counts else "any"))
        if need.goes_by_newest:
            (self.at / "require").add_problem("'partitions: latest' is a single partition, so 'require' cannot count")
        most = need.max_required(_SAMPLE, _SAMPLED_PARTITIONS)
        if most is not None and require.at_least > most:
            message = f"{require.at_least} partitions of {self.other.name!r} can never exist"
            (self.at / "require" / "at_least").add_problem(
                f"{message}: at most {most} map to one of {self.draft.name!r}"
            )
        return PartitionRequirement("at_least", require.at_least)


def _can_times_meet(need: Dependency) -> bool:
    """Whether some partition of the asset, within its start and end, requires one within the inlet's start and end.

    Mapped time is ascending, so it is enough that the first partition does not need only what comes after the inlet's
    end, and the last one not only what comes before its start.
    """
    mapping, down, up = need.mapping, need.consumer.time, need.inlet.time
    if down is None or up is None or not isinstance(mapping, OverlapMapping | WindowMapping):
        return True
    # one second at either end stands for the partition that holds it
    if down.start is not None and up.end is not None:
        start = down.ceil(down.start)
        needed = mapping.required_ranges(RangeSet.span(start, start + 1), consumer_time=down, inlet_time=up)
        if needed and needed.first >= up.end:
            return False
    if down.end is not None and up.start is not None:
        needed = mapping.required_ranges(RangeSet.span(down.end - 1, down.end), consumer_time=down, inlet_time=up)
        return not needed or up.floor(needed.last - 1) >= up.start
    return True
