"""What the journal tells: events, runs, and its rows as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.app.keys import with_keys
from sparkassets.app.opened import Opened
from sparkassets.core.journal.codec import from_row

if TYPE_CHECKING:
    from sparkassets.core.journal.codec.rows import JournalRow
    from sparkassets.core.journal.entries import Numbered
    from sparkassets.core.journal.runs import RunRecord, RunStatus


class History(Opened):
    """What can be asked of a project's past."""

    def events(self, *, asset: str | None = None, last: int | None = None) -> list[dict[str, Any]]:
        """Dataset events, oldest first; only the newest ``last``.

        With ``asset``, a name or a dataset URI, those of its dataset, by whatever name they were announced.
        Of each, besides what it says, the ids of the runs that it ``triggered``, and of those that it was
        ``included_in``: they read it, and had another cause.
        """
        from sparkassets.app.records import described, newest
        from sparkassets.core.journal.announce import dataset_of
        from sparkassets.core.journal.events import EVENT_KINDS
        from sparkassets.core.journal.state import EventRef

        def parse(rows: Sequence[JournalRow]) -> list[Numbered]:
            return [each for each in map(from_row, rows) if EventRef.of(each) is not None]

        uri = None if asset is None else dataset_of(self.spec, asset)
        found = newest(lambda limit: self.history(kinds=EVENT_KINDS, uri=uri, last=limit), parse, last=last)
        return described(self.spec, self._adapters.store, found)

    def runs(
        self, *, asset: str | None = None, status: RunStatus | None = None, last: int | None = None
    ) -> list[RunRecord]:
        """Runs in the order of their claims; only the newest ``last``.

        Those of an asset that is in the project, or was: of an outlet those that write it.

        Raises:
            InputError: There is no such asset, nor was there one.
        """
        from sparkassets.app.records import newest
        from sparkassets.core.journal.runs import RUN_KINDS, of_entries

        maker = self._known_by(asset) if asset is not None else None
        gone = self._adapters.leases().over(self._state("runs"), mine=frozenset())

        def parse(rows: Sequence[JournalRow]) -> list[RunRecord]:
            found = of_entries(map(from_row, rows), gone)
            return [with_keys(run, self.spec) for run in found if status in (None, run.status)]

        return newest(lambda limit: self.history(kinds=RUN_KINDS, asset=maker, last=limit), parse, last=last)

    def run_record(self, run: str) -> tuple[RunRecord, str]:
        """One run, and what its driver was called: host and process.

        Raises:
            InputError: The journal knows no such run.
        """
        from sparkassets.core.journal.runs import RUN_KINDS, of_entries
        from sparkassets.errors import InputError

        claims = self.history(kinds=("claim",), run=run, last=1)
        if not claims:
            hint = "; ".join(filter(None, ["`sparkassets runs` lists them", self.forgotten()]))
            raise InputError(f"no run {run!r} in project {self.spec.name!r}", hint=hint)
        gone = self._adapters.leases().over(self._state("runs"), mine=frozenset())
        name = claims[0].asset if claims[0].asset in self.spec.assets else None
        store = self._adapters.store
        rows = store.history(kinds=RUN_KINDS, asset=name, after_seq=claims[0].seq - 1)
        found = next(each for each in of_entries(map(from_row, rows), gone) if each.run == run)
        return with_keys(found, self.spec), claims[0].driver

    def history(
        self,
        *,
        kinds: Sequence[str] | None = None,
        asset: str | None = None,
        uri: str | None = None,
        run: str | None = None,
        last: int | None = None,
    ) -> Sequence[JournalRow]:
        """Rows of the journal, oldest first; only the newest ``last``.

        Raises:
            InputError: There is no such asset in the project, nor was there one.
        """
        if asset is not None:
            self._known_by(asset)
        if not self._adapters.store.exists():
            return ()
        self._adapters.store.check(project=self.spec.name)
        return self._adapters.store.history(kinds=kinds, asset=asset, uri=uri, run=run, last=last)

    def _known_by(self, asset: str) -> str:
        """The name by which the journal has the runs of an asset, also of one that is not in the project any more.

        Raises:
            InputError: There is no such asset, nor was there one.
        """
        known = self._state("runs").assets if asset not in self.spec.assets else {}
        if asset in known:
            return next((name for name, each in known.items() if asset in dict(each.spec.outlets)), asset)
        return self.asset(asset).maker or asset
