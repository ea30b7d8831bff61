"""`BranchCommands`: runs changed code beside the base; compares, promotes or drops the results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from sparkassets.app.adapters import Adapters
from sparkassets.app.context import ProjectContext, Selection, WorkScope
from sparkassets.app.work_runner import WorkRunner
from sparkassets.core.documents.table_difference import AssetDifference, ComparedTable, comparison_keys
from sparkassets.core.instants import to_unix
from sparkassets.core.journal.known_segments import with_known_segments
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.phrases import few, listing
from sparkassets.core.runs import WAREHOUSE_FOLDER
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import InputError, StateError
from sparkassets.features.branches.branch_project import branch_storage
from sparkassets.features.branches.branch_state import Branch, JournalReader
from sparkassets.features.branches.branch_work import BranchWork

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.journal.state import State
    from sparkassets.core.planner.plan import AssetNote, Plan
    from sparkassets.core.planner.planning_context import PlanningContext
    from sparkassets.core.results import Summary
    from sparkassets.features.branches.branch_sample import BranchSample
    from sparkassets.ports.views import BranchViews
    from sparkassets.runtime.driver_work import DriverWork
    from sparkassets.runtime.progress import Progress
    from sparkassets.spark.table_comparison import SparkTableComparer

P = TypeVar("P")
"""The class of project that `open` returns."""


class BranchCommands(Generic[P]):
    """Opens, compares, promotes and drops the branches of a project.

    Args:
        open_in: Opens the project of a branch, given what reaches it and the part of it that is computed there.
    """

    def __init__(
        self,
        context: ProjectContext,
        runner: WorkRunner,
        open_in: Callable[[ProjectSpec, Adapters, WorkScope], P],
    ) -> None:
        self._context = context
        self._runner = runner
        self._open_in = open_in

    def open(self, name: str, *, existing: bool = False, sample: BranchSample | None = None) -> P:
        """The project as it is in a branch; nothing is created before something runs there.

        >>> project.branches.open("new-prices").run(spark)  # doctest: +SKIP

        Args:
            name: Of the branch.
            existing: Whether something has to have run there.
            sample: The part of it that is computed; None computes everything.

        Raises:
            InputError: No branch may have that name, there is no base yet, or no such branch where there has to be.
        """
        branch = self._existing_branch(name) if existing else self._branch(name, sample)
        return self._open_in(branch.branch_project.spec, branch.adapters, BranchScope(branch, self._context))

    def sample(self, name: str, most: int, *, keys: Sequence[str] = ()) -> BranchSample:
        """The newest ``most`` partitions of each asset that the branch computes, with those that these need.

        With ``keys``, each ``A..B`` or ``A``, the partitions that these name.

        Raises:
            InputError: No branch may have that name, there is no base yet, or nothing has such partitions.
        """
        from sparkassets.features.branches.branch_sample import sample_branch

        branch = self._branch(name)
        now = to_unix(self._context.adapters.clock.now())
        return sample_branch(branch.branch_project, branch.base.state(), most=most, now=now, keys=keys)

    def differs(self, name: str) -> bool:
        """Whether the branch's code differs from the base's, so that the branch computes anything.

        Raises:
            InputError: No branch may have that name, or there is no base yet.
        """
        return bool(self._branch(name).branch_project.assets_to_compute)

    def plan_promotion(self, name: str, *, select: Selection = None, rebuild: bool = False) -> Plan:
        """What `promote` would take over into the base now, and why it would not take the rest.

        Raises:
            InputError: There is no such branch, or it has not run what it computes as it is now.
        """
        from sparkassets.features.branches.branch_work import PromotionWork

        branch = self._promotable_branch(name)
        context = self._context.look(select=self._computed_selection(branch, select))
        work = PromotionWork(self._computed_selection(branch, select), branch.offer, rebuild=rebuild)
        return self._context.show_plan(work.plan(context), context)

    def promote(
        self,
        name: str,
        spark: SparkSession | None = None,
        *,
        select: Selection = None,
        rebuild: bool = False,
        progress: Progress | None = None,
        check: bool = True,
    ) -> Summary:
        """Takes over a branch's partitions into the base, where a run of the base would compute the same rows.

        >>> project.branches.promote("new-prices", spark)  # doctest: +SKIP

        Args:
            name: Of the branch.
            spark: As of `run` of the project.
            select: Of these assets only.
            rebuild: Also columns that no run of the base may change, each such table at once.
            progress: As of `run` of the project.
            check: As of `run` of the project.

        Raises:
            InputError: There is no such branch, or it has not run what it computes as it is now.
            RunFailedError: Something could not be promoted; it holds the summary.
        """
        from sparkassets.features.branches.branch_work import PromotionWork

        branch = self._promotable_branch(name)
        work = PromotionWork(self._computed_selection(branch, select), branch.offer, rebuild=rebuild)
        return self._runner.run([work], spark, progress=progress, check=check)

    def diff(
        self,
        name: str,
        spark: SparkSession | None = None,
        *,
        select: Selection = None,
        samples: int = 5,
        sample: BranchSample | None = None,
    ) -> list[AssetDifference]:
        """How the branch's computed assets differ from the base's: in columns, partitions and rows.

        >>> [each.asset for each in project.branches.diff("new-prices", spark)]  # doctest: +SKIP

        Args:
            name: Of the branch.
            spark: As of `run` of the project.
            select: Of these assets only.
            samples: Differing rows to return for each asset.
            sample: Only this part of the branch; None compares all of it.

        Raises:
            InputError: There is no such branch.
            RunError: A table cannot be read.
        """
        from sparkassets.spark.table_comparison import SparkTableComparer

        branch = self._existing_branch(name)
        make_comparer = partial(SparkTableComparer, self._context.spec, spark)
        computed = self._computed_selection(branch, select)
        compared = dict.fromkeys(computed, EVERYTHING)
        if sample is not None:
            compared = {each: sample.partitions[each] for each in computed if each in sample.partitions}
        return find_differences(branch, compared, make_comparer, samples=samples)

    def drop(self, name: str) -> Sequence[str]:
        """Removes a branch with its state and tables; returns its assets. Promoted rows stay in the base.

        Raises:
            InputError: There is no such branch, or something of it runs, or is being promoted.
        """
        from sparkassets.core.journal.entries import PauseEntry
        from sparkassets.features.branches.branch_project import BRANCH_FOLDER
        from sparkassets.features.branches.branch_views import list_views

        if self._is_half_dropped(name):
            self._context.adapters.remove_folder(f"{self._context.spec.state.rstrip('/')}/{BRANCH_FOLDER}", name)
            return ()  # a killed `drop` has removed the tables and views already
        branch = self._existing_branch(name)
        self._refuse_promotions(name, branch.journal.state().journal_id)

        def decide(state: State) -> Sequence[Entry]:
            """Pauses every asset of the branch, so that no driver starts a run in it any more; refuses one in use."""
            lost = self._context.lost_claims(state)
            for asset_state in state.assets.values():
                # a claim whose driver is gone runs nothing any more
                running = [link for link in asset_state.chain if link.status == "open" and link.token not in lost]
                if running:
                    run, driver = running[-1].entry.run, running[-1].driver
                    hint = "wait until it ends, or stop it, and drop the branch again"
                    raise InputError(f"branch {name!r} is in use: {driver} is running {run}", hint=hint)
            return [
                PauseEntry(asset_state.name, paused=True)
                for asset_state in state.assets.values()
                if not asset_state.paused
            ]

        with ProjectContext(branch.branch_project.spec, branch.adapters).recording("drop") as ledger:
            ledger.commit(decide)
        views = list_views(branch, is_dropped=True)
        if views.tables and (problems := self._context.adapters.update_views(views)):
            raise InputError(f"branch {name!r} still has {few(problems)}", hint="drop the branch again")
        self._context.adapters.remove_folder(f"{self._context.spec.warehouse.rstrip('/')}/{WAREHOUSE_FOLDER}", name)
        self._context.adapters.remove_folder(f"{self._context.spec.state.rstrip('/')}/{BRANCH_FOLDER}", name)
        return tuple(branch.branch_project.assets_to_compute)

    def names(self) -> list[str]:
        """The names of the branches that there are, ascending."""
        from sparkassets.features.branches.branch_project import BRANCH_FOLDER

        return (
            []
            if self._context.spec.state_by_spark
            else sorted(self._context.adapters.list_folders(self._context.spec.state, BRANCH_FOLDER))
        )

    def _is_half_dropped(self, name: str) -> bool:
        """Whether a `drop` was killed before it had removed the branch's journal, which it does last.

        Then the branch still has a folder of state, but none of tables, and its journal is gone or unreadable.
        """
        from sparkassets.features.branches.branch_project import check_branch_name

        if check_branch_name(name) not in self.names() or name in self._context.adapters.list_folders(
            self._context.spec.warehouse, WAREHOUSE_FOLDER
        ):
            return False
        try:
            return not self._branch(name).adapters.store.exists()
        except StateError:
            return True

    def _refuse_promotions(self, name: str, branch_id: str) -> None:
        """Raises `InputError` if the base has an unsettled run that promotes this branch."""
        for asset_state in self._context.read_state("drop").assets.values():
            for claim in (link.entry for link in asset_state.chain):
                promotes = claim.request.promotes
                if promotes is not None and promotes.journal_id == branch_id:
                    problem = f"{claim.run} of {asset_state.name} is unfinished in the base"
                    hint = f"`sparkassets promote {name}` continues with it"
                    raise InputError(f"branch {name!r} is being promoted: {problem}", hint=hint)

    def _branch(self, name: str, sample: BranchSample | None = None) -> Branch:
        """The branch of this name, whether or not anything ran in it.

        Raises:
            InputError: The name is not allowed, this is a branch itself, or the base has no state yet.
        """
        from sparkassets.features.branches.branch_project import branch_state_location, check_branch_name

        if self._context.scope is not None:
            raise InputError(f"{self._context.scope.title} cannot have branches")
        make_adapters = self._context.adapters.for_project
        branch_state_location(self._context.spec, check_branch_name(name))
        if make_adapters is None or not self._context.adapters.store.exists():
            message = f"there is no base to branch from: {self._context.spec.state} contains no state"
            raise InputError(message, hint="`sparkassets run` with the base's code creates it")
        clock = self._context.adapters.clock
        base = JournalReader(self._context.adapters.store, self._context.spec, clock)
        return Branch(name, base, make_adapters, clock=clock, sample=sample)

    def _existing_branch(self, name: str) -> Branch:
        """The branch of this name.

        Raises:
            InputError: Nothing has run in it.
        """
        from sparkassets.core.suggestions import did_you_mean

        branch = self._branch(name)
        if not branch.adapters.store.exists():
            hint = did_you_mean(name, self.names()) or f"`sparkassets run --branch {name}` creates it"
            raise InputError(f"unknown branch {name!r}", hint=hint)
        return branch

    def _promotable_branch(self, name: str) -> Branch:
        """The branch of this name, if it has run all that it computes with the present code.

        Raises:
            InputError: There is no such branch, or some assets have not run.
        """
        branch = self._existing_branch(name)
        if assets_not_run := branch.assets_not_run():
            hint = f"run `sparkassets run --branch {name}`, then promote"
            raise InputError(f"branch {name!r} has not run the current code of {listing(assets_not_run)}", hint=hint)
        return branch

    def _computed_selection(self, branch: Branch, select: Collection[str] | None) -> tuple[str, ...]:
        """The assets that the branch computes, limited to ``select``; all of them for None."""
        chosen = self._context.select(select)
        return tuple(name for name in branch.branch_project.assets_to_compute if chosen is None or name in chosen)


class BranchScope:
    """Limits commands to the assets that a branch computes; implements `context.WorkScope`.

    Attributes:
        title: What it is called in messages.
    """

    def __init__(self, branch: Branch, base: ProjectContext) -> None:
        self.title = f"branch {branch.branch_project.name!r}"
        self._branch = branch
        self._base = base
        self._views: BranchViews | None = None

    def select(self, select: Selection) -> Collection[str] | None:
        """The selected assets that the branch computes; None, which means all, without a selection.

        None also if the branch computes nothing: then there is nothing to refuse.

        Raises:
            InputError: An asset is not in the project, or the branch computes none of the selected ones.
        """
        computed = self._branch.branch_project.assets_to_compute
        if select is None or not computed:
            return None
        chosen = self._base.select(select) or ()
        selected = tuple(name for name in chosen if name in computed)
        if not selected:
            message = f"{self.title} does not compute {listing(tuple(chosen))}"
            raise InputError(message, hint="its code is the same as the base's: run it in the base, without --branch")
        return selected

    def check(self, name: str, verb: str) -> None:
        """Refuses an asset that the branch takes from the base.

        Raises:
            InputError: With how to do ``verb`` to it all the same.
        """
        if name in self._base.spec.assets and name not in self._branch.branch_project.assets_to_compute:
            message = f"{self.title} does not compute {name!r}: it is the same in the base"
            raise InputError(message, hint=f"use `sparkassets {verb} {name}` without --branch")

    def notes(self, context: PlanningContext) -> tuple[AssetNote, ...]:
        """Which assets are computed in the branch and which are read from the base, and why."""
        return self._branch.notes(context)

    def begin(self, works: Sequence[DriverWork]) -> list[DriverWork]:
        """Wraps each work so that it first records up to which entry the branch knows its base."""
        base = self._branch.base.state()
        return [BranchWork(work, self._branch.branch_project, base) for work in works]

    def end(self, summary: Summary) -> None:
        """Updates the views by which catalogs show the branch; a sample of a branch is not shown."""
        from sparkassets.features.branches.branch_views import show_branch

        branch, can_show = self._branch, self._base.spec.is_in_catalogs and not (summary.interrupted or summary.lost)
        if can_show and branch.branch_project.assets_to_compute and not branch.is_sample:
            self._views = show_branch(branch, self._views)


def find_differences(
    branch: Branch,
    compared: Mapping[str, PartitionSet],
    make_comparer: Callable[[], SparkTableComparer],
    *,
    samples: int,
) -> list[AssetDifference]:
    """How these partitions of each asset differ between base and branch; Spark starts only if rows are compared.

    Rows are compared in the partitions that both sides have; the others are listed as being on one side only.
    """
    differences: list[AssetDifference] = []
    comparer: SparkTableComparer | None = None
    base_state, branch_state = branch.base.state(), branch.journal.state()
    project = with_known_segments(branch.base.project, branch_state)
    try:
        for name, partitions in compared.items():
            asset = project.assets[name]
            if asset.outlets or asset.storage is None:
                continue  # it has no rows of its own
            base_table = _compared_table(asset, asset.storage.path, base_state.assets.get(name), partitions)
            place = branch_storage(branch.base.project, branch.branch_project.name, asset)
            branch_table = _compared_table(
                asset, place.path if place is not None else "", branch_state.assets.get(name), partitions
            )
            only_base = _partitions_only_in(base_table, branch_table)
            only_branch = _partitions_only_in(branch_table, base_table)
            if base_table is None or branch_table is None:
                differences.append(AssetDifference(name, only_base=only_base, only_branch=only_branch))
                continue
            comparer = comparer or make_comparer()
            columns, rows = comparer.compare(
                asset,
                ComparedTable(
                    base_table.path,
                    base_table.table_id,
                    base_table.version,
                    base_table.partitions & branch_table.partitions,
                ),
                branch_table,
                keys=comparison_keys(project, asset),
                samples=samples,
            )
            differences.append(AssetDifference(name, columns, only_base, only_branch, rows))
    finally:
        if comparer is not None:
            comparer.close()
    return differences


def _compared_table(
    asset: AssetSpec, path: str, asset_state: AssetState | None, compared: PartitionSet
) -> ComparedTable | None:
    """The table of an asset on one side, with those of the ``compared`` partitions that it has.

    None if there is no table yet, or it has none of these partitions. Without partitions it is compared as a whole.
    """
    if asset_state is None or asset_state.table_id is None or asset_state.version is None:
        return None
    partitions = EVERYTHING
    if asset.partitioning.is_partitioned:
        partitions = asset.partitioning.inside(asset_state.coverage) & compared
    return ComparedTable(path, asset_state.table_id, asset_state.version, partitions) if partitions else None


def _partitions_only_in(table: ComparedTable | None, other: ComparedTable | None) -> PartitionSet:
    """Partitions that the first table has and the second lacks."""
    if table is None:
        return NOTHING
    return table.partitions if other is None else table.partitions - other.partitions
