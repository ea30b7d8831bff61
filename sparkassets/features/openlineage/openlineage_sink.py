"""Sends OpenLineage events; its own client decides where to, by its files and variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from sparkassets.core.journal.entries import ClaimEntry, FailureEntry
from sparkassets.errors import InputError
from sparkassets.features.openlineage.events import Event, invocation_event, run_events
from sparkassets.features.openlineage.facet_builder import FacetBuilder
from sparkassets.features.openlineage.names import RunName
from sparkassets.ports import JournalCommit

if TYPE_CHECKING:
    from openlineage.client.client import OpenLineageClient

DEFAULT_NAMESPACE: Final = "default"
"""Namespace of jobs where none is configured."""
CLOSE_SECONDS: Final = 4.0
"""How long the end of an invocation waits for a transport that sends beside the runs."""

Client = Callable[[], "OpenLineageClient"]


def parent_of(variables: Mapping[str, str]) -> tuple[RunName, RunName] | None:
    """The run that started this process and the outermost one, by ``OPENLINEAGE_PARENT_ID``, ``…_ROOT_PARENT_ID``."""
    parent = RunName.parse(variables.get("OPENLINEAGE_PARENT_ID", ""))
    if parent is None:
        return None
    return parent, RunName.parse(variables.get("OPENLINEAGE_ROOT_PARENT_ID", "")) or parent


class OpenLineageSink:
    """A sink that sends OpenLineage events of commits and invocations.

    Args:
        facets: Builds the facets of a project's events.
        now: The time, for the end of an invocation.
        client: Creates the client at the first event.
    """

    def __init__(self, facets: FacetBuilder, *, now: Callable[[], datetime], client: Client | None = None) -> None:
        self._facets = facets
        self._now = now
        self._build_client = client or build_client
        self._client: OpenLineageClient | None = None
        self._invocations: dict[str, bool] = {}

    def committed(self, commit: JournalCommit) -> None:
        """Sends the events of a commit; a failed event does not stop later ones."""
        events = run_events(commit.entries, before=commit.before, after=commit.after, builder=self._facets)
        self._send([*self._build_start_events(commit), *events])
        for each in commit.entries:
            if isinstance(each.entry, FailureEntry) and each.entry.invocation in self._invocations:
                self._invocations[each.entry.invocation] = False

    def ended(self) -> None:
        """Sends the end of the invocation, and waits for events that the transport still holds."""
        invocations, self._invocations = self._invocations, {}
        now = self._now()
        ends = [
            invocation_event("COMPLETE" if is_ok else "FAIL", now, invocation=invocation, builder=self._facets)
            for invocation, is_ok in invocations.items()
        ]
        try:
            self._send(ends)
        finally:
            client, self._client = self._client, None
            if client is not None:
                client.close(CLOSE_SECONDS)

    def _build_start_events(self, commit: JournalCommit) -> Iterator[Event]:
        """START of each invocation whose first claim is in the commit."""
        for each in commit.entries:
            if isinstance(each.entry, ClaimEntry) and each.entry.invocation not in self._invocations:
                self._invocations[each.entry.invocation] = True
                yield invocation_event("START", each.at, invocation=each.entry.invocation, builder=self._facets)

    def _send(self, events: Sequence[Event]) -> None:
        """Sends all events, creating the client first; raises the first error after trying every event."""
        if not events:
            return
        if self._client is None:
            self._client = self._build_client()
        errors = []
        for event in events:
            try:
                self._client.emit(to_client_event(event))
            except Exception as error:  # noqa: BLE001  transports raise any class
                errors.append(error)
        if errors:
            raise errors[0]


def to_client_event(event: Event) -> Any:  # noqa: ANN401  of a package that may not be installed
    """The event in the client's own classes."""
    from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState

    return RunEvent(
        eventType=RunState(event["eventType"]),
        eventTime=event["eventTime"],
        run=Run(event["run"]["runId"], dict(event["run"]["facets"])),
        job=Job(event["job"]["namespace"], event["job"]["name"], dict(event["job"]["facets"])),
        inputs=[InputDataset(**each) for each in event["inputs"]],
        outputs=[OutputDataset(**each) for each in event["outputs"]],
        producer=event["producer"],
    )


def build_client() -> OpenLineageClient:
    """An OpenLineage client, configured by its own files and variables.

    Raises:
        InputError: The package is not installed.
    """
    try:
        from openlineage.client.client import OpenLineageClient
    except ImportError as error:
        raise InputError(
            "OpenLineage is configured, but the package openlineage-python is not installed",
            hint="pip install 'sparkassets[openlineage]', or set OPENLINEAGE_DISABLED=true",
            topic="missing-package",
        ) from error

    class CredentialFreeClient(OpenLineageClient):
        """A client that removes credentials from the URL of the source code."""

        def add_source_code_location_facet(self, event: Any) -> Any:  # noqa: ANN401  as the client's own
            changed_event: Any = super().add_source_code_location_facet(event)
            facet = changed_event.job.facets.get("sourceCodeLocation") if changed_event.job.facets else None
            if facet is not None:
                facet.url = facet.repoUrl = _without_user(facet.url)
            return changed_event

    return CredentialFreeClient()


def _without_user(url: str) -> str:
    """The URL without user and password; other forms, such as ``git@host:path``, stay as they are."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if parts.scheme.startswith("http") else url
