"""The sinks that the project's files and the environment set up."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec

if TYPE_CHECKING:
    from sparkassets.features.openlineage.facet_builder import Columns
    from sparkassets.ports import Clock, Sink
    from sparkassets.runtime.ledger import JournalLedger

OPENLINEAGE_FILE: Final = "openlineage.yml"


def make_sinks(spec: ProjectSpec, environment: Mapping[str, str] = os.environ) -> tuple[Sink, ...]:
    """The sinks that are set up; imports nothing for the others."""
    sinks: list[Sink] = []
    if spec.openlineage is not False and is_openlineage_configured():
        sinks.append(_make_openlineage(spec))
    if any(asset.notify for asset in spec.assets.values()):
        from sparkassets.features.notifications.notification_sink import NotificationSink

        sinks.append(NotificationSink(environment))
    if spec.sinks:
        from sparkassets.wiring.registered_sinks import RegisteredSink

        sinks += map(RegisteredSink, spec.sinks)
    return tuple(sinks)


def make_digests(spec: ProjectSpec, environment: Mapping[str, str], clock: Clock) -> Callable[[JournalLedger], None]:
    """What sends the digests of notifications that are due at the end of an invocation; does nothing without any."""
    if not any(rule.digest is not None for asset in spec.assets.values() for rule in asset.notify):
        return lambda _: None
    from sparkassets.features.notifications.digests import DigestSender

    return DigestSender(spec, environment, clock).send_due


def is_openlineage_configured() -> bool:
    """Whether OpenLineage is configured where its client looks: in variables or in a file."""
    if os.environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return False
    if os.environ.get("OPENLINEAGE_URL") or any(name.startswith("OPENLINEAGE__TRANSPORT") for name in os.environ):
        return True
    configured = os.environ.get("OPENLINEAGE_CONFIG")
    home = os.path.expanduser(f"~/.openlineage/{OPENLINEAGE_FILE}")  # noqa: PTH111  that of pathlib raises without one
    return any(os.path.isfile(path) for path in (configured, OPENLINEAGE_FILE, home) if path)  # noqa: PTH113


def _make_openlineage(spec: ProjectSpec) -> Sink:
    """The sink that sends OpenLineage events; the namespace of the environment goes before the project's."""
    from importlib.metadata import PackageNotFoundError, version

    from sparkassets.features.openlineage.facet_builder import FacetBuilder
    from sparkassets.features.openlineage.openlineage_sink import DEFAULT_NAMESPACE, OpenLineageSink, parent_of
    from sparkassets.wiring.host import SystemClock

    def find_version(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return ""

    namespace = spec.openlineage if isinstance(spec.openlineage, str) else ""
    facets = FacetBuilder(
        project=spec,
        namespace=os.environ.get("OPENLINEAGE_NAMESPACE") or namespace or DEFAULT_NAMESPACE,
        adapter=find_version("sparkassets"),
        engine=find_version("pyspark"),
        parent=parent_of(os.environ),
        schemas=_make_column_reader(),
        code=_function_source,
    )
    return OpenLineageSink(facets, now=SystemClock().now)


def _make_column_reader() -> Callable[[AssetSpec, int | None], Columns | None]:
    """A function that returns a table's columns at a version, or the declared ones without table or version."""
    from sparkassets.sources.table_schemas import TableSchemas

    tables = TableSchemas()

    def read_columns(asset: AssetSpec, version: int | None) -> Columns | None:
        if version is None or asset.storage is None or asset.is_named:
            return asset.columns or None
        return tables.read_columns(asset.storage.path, version)

    return read_columns


def _function_source(asset: AssetSpec) -> str:
    """The source text of the asset's function; empty if there is none or it cannot be read."""
    body = asset.body
    if not isinstance(body, PythonBody):
        return ""
    import ast

    module = Path(body.search_path, *body.module.split("."))
    try:
        file = next(each for each in (module.with_suffix(".py"), module / "__init__.py") if each.is_file())
        text = file.read_text(encoding="utf-8")
        nodes = (node for node in ast.walk(ast.parse(text)) if getattr(node, "name", None) == body.function)
        return next((ast.get_source_segment(text, node) or "" for node in nodes), "")
    except (StopIteration, OSError, ValueError, SyntaxError, RecursionError):
        return ""
