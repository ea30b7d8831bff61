"""Branches: changed code is run beside the base, compared with it, promoted to it, or dropped."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from sparkassets.app.driving import Driving
from sparkassets.app.history import History
from sparkassets.app.selection import Selection
from sparkassets.core.phrases import listing
from sparkassets.errors import InputError, StateError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.app.branches import Branch
    from sparkassets.core.branches.difference import Difference
    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.journal.state import State
    from sparkassets.core.planner.plan import Plan
    from sparkassets.core.results import Summary
    from sparkassets.core.spec.model import AssetSpec, ProjectSpec
    from sparkassets.runtime.progress import Progress
    from sparkassets.runtime.work import Work


class Branching(Driving):
    """What can be done with branches of a project."""

    def branch(self, name: str, *, existing: bool = False) -> Beside:
        """The project as it is in a branch; nothing is made before something runs there.

        Args:
            name: Of the branch.
            existing: Whether something has to have run there.

        Raises:
            InputError: No branch may have that name, there is no base yet, or no such branch where there has to be.
        """
        return Beside(self._existing(name) if existing else self._branch(name), self)

    def plan_promotion(self, name: str, *, select: Selection = None, rebuild: bool = False) -> Plan:
        """What `promote` would make the base's now, and why not the rest.

        Raises:
            InputError: There is no such branch, or it has not run what it computes as it is now.
        """
        from sparkassets.app.keys import plan_with_keys
        from sparkassets.runtime.promoting import Promoting

        branch = self._promotable(name)
        context = self._context(select=self._of_branch(branch, select))
        work = Promoting(self._of_branch(branch, select), branch.offer, rebuild=rebuild)
        return plan_with_keys(work.plan(context), context.project)

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
        """Makes what a branch has the base's, block by block, where a run of the base would make the same.

        Args:
            name: Of the branch.
            spark: As of `run`.
            select: Of these assets only.
            rebuild: Also columns that no run of the base may change, each such table at once.
            progress: As of `run`.
            check: As of `run`.

        Raises:
            InputError: There is no such branch, or it has not run what it computes as it is now.
            RunFailedError: Something could not be promoted; it holds the summary.
        """
        from sparkassets.runtime.promoting import Promoting

        branch = self._promotable(name)
        work = Promoting(self._of_branch(branch, select), branch.offer, rebuild=rebuild)
        return self._drive([work], spark, at=None, progress=progress, check=check, over_budget=True)

    def diff(
        self,
        name: str,
        spark: SparkSession | None = None,
        *,
        select: Selection = None,
        samples: int = 5,
    ) -> list[Difference]:
        """How what a branch has computed differs from what the base has: in columns, partitions and rows.

        Raises:
            InputError: There is no such branch.
            RunError: A table cannot be read.
        """
        from sparkassets.app.differing import differences

        branch = self._existing(name)
        comparing = self._adapters.comparing
        if comparing is None:
            raise InputError("nothing here compares tables")
        return differences(branch, self._of_branch(branch, select), partial(comparing, spark), samples=samples)

    def drop(self, name: str) -> Sequence[str]:
        """Removes a branch with all that it has computed; returns its assets. What was promoted stays.

        Raises:
            InputError: There is no such branch, or something of it runs, or is being promoted.
        """
        from sparkassets.core.branches.places import BRANCHES, WAREHOUSES
        from sparkassets.core.journal.entries import PauseEntry

        if self._is_half_dropped(name):
            self._adapters.remove(f"{self.spec.state.rstrip('/')}/{BRANCHES}", name)
            return ()
        branch = self._existing(name)
        self._refuse_promotions(name, branch.own.state().journal_id)
        beside = Beside(branch, self)

        def decide(state: State) -> Sequence[Entry]:
            over = self._adapters.leases().over(state, mine=frozenset())
            for known in state.assets.values():
                live = [link for link in known.chain if link.status == "open" and link.token not in over]
                if live:
                    run, driver = live[-1].entry.run, live[-1].driver
                    hint = "wait until it ends, or stop it; then drop the branch again"
                    raise InputError(f"branch {name!r} is in use: {run} runs, by {driver}", hint=hint)
            return [PauseEntry(known.name, paused=True) for known in state.assets.values() if not known.paused]

        beside.commit("drop", decide)
        self._adapters.remove(f"{self.spec.warehouse.rstrip('/')}/{WAREHOUSES}", name)
        self._adapters.remove(f"{self.spec.state.rstrip('/')}/{BRANCHES}", name)
        return tuple(branch.fork.own)

    def branches(self) -> list[str]:
        """The names of the branches that there are, ascending."""
        from sparkassets.core.branches.places import BRANCHES

        return [] if self.spec.state_by_spark else sorted(self._adapters.folders(self.spec.state, BRANCHES))

    def _is_half_dropped(self, name: str) -> bool:
        """Whether a `drop` was killed while it removed the journal, which comes last."""
        from sparkassets.core.branches.places import WAREHOUSES, checked_name

        if checked_name(name) not in self.branches() or name in self._adapters.folders(self.spec.warehouse, WAREHOUSES):
            return False
        try:
            return not self._branch(name).adapters.store.exists()
        except StateError:
            return True

    def _refuse_promotions(self, name: str, branch_id: str) -> None:
        for known in self._state("drop").assets.values():
            for claim in (link.entry for link in known.chain):
                promotes = claim.request.promotes
                if promotes is not None and promotes.journal_id == branch_id:
                    what = f"{claim.run} of {known.name} is not settled in the base"
                    hint = f"`sparkassets promote {name}` goes on with it"
                    raise InputError(f"branch {name!r} is being promoted: {what}", hint=hint)

    def _branch(self, name: str) -> Branch:
        from sparkassets.app.branches import Branch, Journal
        from sparkassets.core.branches.places import checked_name, state_of

        beside = self._adapters.beside
        state_of(self.spec, checked_name(name))
        if beside is None or not self._adapters.store.exists():
            message = f"there is no base to branch off: {self.spec.state} holds no state"
            raise InputError(message, hint="`sparkassets run` with the base's code makes it")
        clock = self._adapters.clock
        base = Journal(self._adapters.store, self.spec, clock)
        return Branch(name, base, beside, clock=clock)

    def _existing(self, name: str) -> Branch:
        from sparkassets.core.suggestions import did_you_mean

        branch = self._branch(name)
        if not branch.adapters.store.exists():
            hint = did_you_mean(name, self.branches()) or f"`sparkassets run --branch {name}` makes it"
            raise InputError(f"there is no branch {name!r}", hint=hint)
        return branch

    def _promotable(self, name: str) -> Branch:
        branch = self._existing(name)
        if unknown := branch.unknown():
            hint = f"`sparkassets run --branch {name}` computes what has changed; then promote it"
            raise InputError(f"branch {name!r} has not run {listing(unknown)} as it is now", hint=hint)
        return branch

    def _of_branch(self, branch: Branch, select: Collection[str] | None) -> tuple[str, ...]:
        """The branch's own assets among those of ``select``."""
        chosen = self.selected(select)
        return tuple(name for name in branch.fork.own if chosen is None or name in chosen)


class Beside(Driving, History):
    """The project in a branch: what is asked and done here is about that alone."""

    def __init__(self, branch: Branch, base: Branching) -> None:
        super().__init__(branch.fork.project, branch.adapters)
        self._branch = branch
        self._base = base

    @property
    def differs(self) -> bool:
        """Whether there is anything that the branch computes."""
        return bool(self._branch.fork.own)

    @property
    def named(self) -> ProjectSpec:
        """The whole project, of which the branch computes and reads some."""
        return self._base.spec

    def selected(self, select: Selection) -> Collection[str] | None:
        """Those of the assets that the branch computes.

        Raises:
            InputError: One of them is not in the project, or the branch computes none of them.
        """
        if select is None or not self.differs:
            return None
        chosen, own = self._base.selected(select) or (), self._branch.fork.own
        found = tuple(name for name in chosen if name in own)
        if not found:
            message = f"branch {self._branch.fork.name!r} does not compute {listing(tuple(chosen))}"
            raise InputError(message, hint="the base has it as the code says; without --branch it runs there")
        return found

    def runnable(self, name: str, verb: str) -> AssetSpec:
        """As of the project.

        Raises:
            InputError: It is not computed in the branch.
        """
        if name in self._base.spec.assets and name not in self._branch.fork.own:
            message = f"branch {self._branch.fork.name!r} does not compute {name!r}: it is as the base has it"
            raise InputError(message, hint=f"`sparkassets {verb} {name}` without --branch does it in the base")
        return super().runnable(name, verb)

    def plan(self, *, at: datetime | str | None = None, select: Selection = None, estimate: bool = False) -> Plan:
        """As of the project; and what is computed in the branch and what is reused, and why."""
        from sparkassets.app.keys import plan_with_keys

        found = super().plan(at=at, select=select, estimate=estimate)
        context = self._context(at=at, select=select)
        return plan_with_keys(replace(found, notes=(*found.notes, *self._branch.notes(context))), context.project)

    def commit(self, what: str, decide: Callable[[State], Sequence[Entry]]) -> None:
        """Has the branch's journal hold what is decided on its state."""
        with self._opened(what) as ledger:
            ledger.commit(decide)

    def _drive(self, works: Sequence[Work], spark: SparkSession | None, **more: Any) -> Summary:  # noqa: ANN401  as of `Driving`
        from sparkassets.app.branches import Begun

        base = self._branch.base.state()
        return super()._drive([Begun(work, self._branch.fork, base) for work in works], spark, **more)
