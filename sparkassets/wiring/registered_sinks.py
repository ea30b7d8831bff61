"""Sinks of installed packages, created only when there is something to pass to them."""

from __future__ import annotations

from sparkassets.core.sinks import REGISTRY, RESERVED, SinkSpec, refuse_wrong_type
from sparkassets.plugins import InstalledFactories
from sparkassets.ports import JournalCommit, Sink


class RegisteredSink:
    """A package's sink, imported and created at the first commit, on the thread that serves it."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self._sink: Sink | None = None

    @property
    def name(self) -> str:
        """The sink's name in the project."""
        return self._spec.name

    def committed(self, commit: JournalCommit) -> None:
        """Hands the commit on.

        Raises:
            RegisteredError: The sink cannot be made; it is tried again at the next commit.
        """
        if self._sink is None:
            self._sink = self._make()
        self._sink.committed(commit)

    def ended(self) -> None:
        """Hands the end of the invocation on."""
        if self._sink is not None:
            self._sink.ended()

    def _make(self) -> Sink:
        installed = InstalledFactories(REGISTRY)
        sink: Sink = REGISTRY.make(self.name, self._spec.parameters, installed=installed, reserved=RESERVED)
        refuse_wrong_type(self.name, sink)
        return sink
