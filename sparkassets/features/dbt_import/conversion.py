"""Makes the files of a sparkassets project of a dbt project."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final

from sparkassets.core.planner.wording import plural
from sparkassets.features.dbt_import.dbt_nodes import DbtColumn, DbtNode, DbtProject, ImportNote
from sparkassets.features.dbt_import.dbt_rendering import (
    OWN_RELATION,
    RELATION,
    DbtRenderer,
    NotRenderableError,
    RenderedText,
)
from sparkassets.features.dbt_import.queries import (
    WHOLE_DIVISIONS,
    IncrementalFilter,
    convert_query,
    convert_type,
    divides,
    find_columns,
    find_filter,
)
from sparkassets.features.dbt_import.rule_placement import RulePlacement
from sparkassets.features.dbt_import.seed_types import holds_null_text, infer_types, read_seed
from sparkassets.features.dbt_import.yaml_files import write_yaml
from sparkassets.frozen import frozen

_TABLES: Final = frozenset({"table", "view", "ephemeral", "materialized_view", "incremental"})
_LOST_CONFIG: Final = {
    "pre-hook": "a step of your own before `sparkassets run`",
    "post-hook": "a step of your own after `sparkassets run`",
    "grants": "grants on the table, by hand",
    "incremental_predicates": "",
    "merge_update_columns": "the query, so that it yields all columns",
    "merge_exclude_columns": "the query, so that it yields all columns",
}
"""Configuration that has no equal, with what to write instead."""
_GRAINS: Final = frozenset({"hour", "day", "month", "year"})

Document = dict[str, Any]


@frozen
class ImportedProject:
    """The files of the new project.

    Attributes:
        files: Content by path.
        counts: How many models, seeds, snapshots and sources became assets.
        carried_tests, lost_tests: How many tests hold in the new project, and how many do not.
        notes: What was not carried over, by place.
    """

    name: str
    files: Mapping[str, bytes]
    counts: Mapping[str, int]
    carried_tests: int
    lost_tests: int
    notes: Sequence[ImportNote]

    @property
    def summary(self) -> str:
        """What became assets, and of the tests how many are carried over."""
        counts = ", ".join(plural(count, kind) for kind, count in self.counts.items()) or "nothing"
        return f"{counts}; {plural(self.carried_tests, 'test')} carried over, {self.lost_tests} not"


def convert_project(project: DbtProject, folder: Path) -> ImportedProject:
    """The sparkassets project.

    Args:
        project: What was read.
        folder: Holds its seeds.
    """
    return _ProjectConverter(project, folder).convert()


class _ProjectConverter:
    """Converts the nodes of one project, one after the other."""

    def __init__(self, project: DbtProject, folder: Path) -> None:
        self.project = project
        self.folder = folder
        self.notes = list(project.notes)
        self.nodes = [node for node in project.nodes if node.config.get("enabled", True) is not False]
        self.documents: dict[str, Document] = {}
        self.queries: dict[str, str] = {}
        self.converted: set[tuple[str, str]] = set()
        self.rendered: dict[str, RenderedText] = {}
        self.columns: dict[str, Mapping[str, str] | None] = {}
        self.inclusive: list[tuple[DbtNode, str, str]] = []
        self.reads: dict[str, set[str]] = {}
        self.renderer = DbtRenderer(
            project.name, project.variables, project.macros, dialect=project.dialect, documents={}
        )

    @cached_property
    def assets(self) -> dict[tuple[str, str], str]:
        """The asset of each node, by how templates refer to it; of a source that a seed fills the seed's."""
        found: dict[tuple[str, str], str] = {}
        for node in sorted(self.nodes, key=lambda node: node.kind == "source"):  # sources last: models keep their names
            seed = next((each for each in self.nodes if node.kind == "source" and _fills(each, node)), None)
            if seed is not None:
                found["source", node.name] = found["ref", seed.name]
                continue
            name = re.sub(r"\W", "_", node.name)
            name = f"_{name}" if name[0].isdigit() else name
            while name in found.values():
                name += "_source"
            found[_key(node)] = name
        return found

    def convert(self) -> ImportedProject:
        """Converts every node, then adds what needs all of them: repeated reads, rules, and columns."""
        counts: Counter[str] = Counter()
        files: dict[str, bytes] = {}
        for node in self.nodes:
            asset = self.assets[_key(node)]
            if asset in self.documents:  # a source that a seed fills
                continue
            self.documents[asset] = self._convert_node(node, asset, files)
            self.converted.add(_key(node))
            counts[node.kind] += 1
        for node, inlet, column in self.inclusive:
            self._repeat_equal_values(node, inlet, column)
        placement = RulePlacement(
            self.documents, set(self.queries), self.reads, self.notes, self._find_asset, self.project.dialect
        )
        for test in self.project.query_tests:
            placement.add_note(test, f"test {test.name}", "it is a query of its own", "a validation with `sql`")
        for node in self.nodes:
            placement.add_rules(node, self.assets[_key(node)])
            self._add_columns(node)
        for node in self.nodes:
            asset = self.assets[_key(node)]
            if _key(node) not in self.converted:
                continue
            folders = PurePosixPath(node.file).parent.parts[1:]
            stem = PurePosixPath("assets", *(("sources",) if node.kind == "source" else folders), asset)
            files[f"{stem}.yml"] = write_yaml(self.documents[asset])
            if asset in self.queries:
                files[f"{stem}.sql"] = self.queries[asset].encode()
        name = re.sub(r"\W", "_", self.project.name)
        files["project.yml"] = write_yaml({"project": name, "assets": ["assets/"]})
        notes = sorted(self.notes, key=lambda note: (note.file, note.line, note.subject))
        lost_tests = sum(len(node.tests) for node in self.nodes) + len(self.project.query_tests) - placement.carried
        return ImportedProject(name, files, counts, placement.carried, lost_tests, notes)

    def _convert_node(self, node: DbtNode, asset: str, files: dict[str, bytes]) -> Document:
        """The keys of a node's asset; a node that cannot be converted is reported, and is a source that dbt writes."""
        head = self._describe(node, asset)
        try:
            if node.kind == "seed":
                return {**head, **self._convert_seed(node, files)}
            if node.kind != "source":
                return {**head, **self._convert_query(node, asset)}
        except NotRenderableError as error:
            remedy = _REMEDY if node.kind == "model" and not node.file.endswith(".py") else _REMEDY_BY_HAND
            self._add_note(node, f"{node.kind} {node.name}", str(error), remedy)
        return {**head, "source": True, "table": ".".join(node.relation)}

    def _describe(self, node: DbtNode, asset: str) -> Document:
        """The keys that say what an asset is."""
        meta = dict(node.config.get("meta") or {})
        owner = meta.pop("owner", None) or self.project.owners.get(str(node.config.get("group")))
        keys: Document = {
            "description": node.description,
            "owner": str(owner or ""),
            "tags": [re.sub(r"\W", "_", str(tag)) for tag in _list_names(node.config.get("tags"))],
            "extra": meta,
        }
        return {"asset": asset, **{key: value for key, value in keys.items() if value}}

    def _convert_seed(self, node: DbtNode, files: dict[str, bytes]) -> Document:
        """The keys of a seed; its file is added to ``files``, and configured types replace inferred ones."""
        path = self.folder / node.file
        delimiter = str(node.config.get("delimiter") or ",")
        try:
            header, rows = read_seed(path, delimiter)
        except (OSError, ValueError) as error:
            raise NotRenderableError(f"its file cannot be read: {error}") from error
        files[f"seeds/{path.name}"] = path.read_bytes()
        if holds_null_text(rows):
            reason = "dbt reads the text null as NULL; here it is a text"
            self._add_note(node, f"seed {node.name}", reason, "`options: {nullValue: 'null'}`, or empty values")
        types = {**infer_types(header, rows), **(node.config.get("column_types") or {})}
        options = {"options": {"sep": delimiter}} if delimiter != "," else {}
        return {"source": "csv", "path": f"seeds/{path.name}", **options, "columns": types}

    def _convert_query(self, node: DbtNode, asset: str) -> Document:
        """The keys of a model or a snapshot; its query is kept beside them."""
        if node.file.endswith(".py"):
            raise NotRenderableError("it is Python; write a function with `python:`")
        rendered = self._render(node)
        inlets = [self._inlet(kind, name) for kind, name in rendered.references]
        keys = self._convert_snapshot(node) if node.kind == "snapshot" else self._convert_model(node, rendered, inlets)
        self.queries[asset] = convert_query(rendered, inlets, asset, dialect=self.project.dialect)
        self.reads[asset] = set(inlets)
        self.rendered[asset] = rendered
        if self.project.dialect in WHOLE_DIVISIONS and divides(rendered.text, self.project.dialect):
            reason = f"{self.project.dialect} divides whole numbers into whole numbers, Spark does not"
            self._add_note(node, f"`/` in {node.name}", reason, "`a div b` where whole numbers are meant")
        if OWN_RELATION in rendered.text:
            self._add_note(node, f"`this` in {node.name}", "its table is not there before the first run", "")
        for key, remedy in _LOST_CONFIG.items():
            if node.config.get(key) or node.config.get(key.replace("-", "_")):
                self._add_note(node, f"{key} of {node.name}", "there is nothing like it", remedy)
        return keys

    def _render(self, node: DbtNode, *, is_incremental: bool = False) -> RenderedText:
        """The query with its references; what dbt compiled, unless that depends on the run."""
        if node.compiled and "is_incremental" not in node.text:
            return self._read_compiled(node)
        return self.renderer.render(node.text, is_incremental=is_incremental, config=node.config)

    def _read_compiled(self, node: DbtNode) -> RenderedText:
        """What dbt compiled, with stand-ins for the relations whose quoted names it holds."""
        text, references = node.compiled, list[tuple[str, str]]()
        # the longest name first: a shorter one may be a part of it
        for other in sorted(self.project.nodes, key=lambda each: -len(each.compiled_relation)):
            if other.compiled_relation and other.compiled_relation in text and other.name != node.name:
                text = text.replace(other.compiled_relation, f"{RELATION}{len(references)}")
                references.append(_key(other))
        return RenderedText(text, references, {}, is_conditional=False)

    def _inlet(self, kind: str, name: str) -> str:
        asset = self._find_asset(kind, name)
        if asset is None:
            raise NotRenderableError(f"it reads {name!r}, which the project does not have")
        return asset

    def _find_asset(self, kind: str, name: str) -> str | None:
        return self.assets.get((kind, name))

    def _convert_model(self, node: DbtNode, rendered: RenderedText, inlets: Sequence[str]) -> Document:
        """The keys of a model that say how it runs: schedule, inlets and write, where they are not the defaults.

        Views and tables alike become tables; only ``incremental`` needs keys of its own.
        """
        kind = node.config.get("materialized") or "view"
        if kind not in _TABLES:
            self._add_note(node, f"model {node.name}", f"the materialization {kind!r} is unknown; it is a table", "")
        if not inlets:
            reason = "it reads no other model, so that no update starts it; it is computed each day"
            self._add_note(node, f"model {node.name}", reason, "another `schedule`")
            return {"schedule": "@daily"}
        if kind != "incremental":
            return {}
        grows = node.config.get("on_schema_change") in ("append_new_columns", "sync_all_columns")
        convert = (
            self._convert_microbatch
            if node.config.get("incremental_strategy") == "microbatch"
            else self._convert_incremental
        )
        return {**({"schema": "add_columns"} if grows else {}), **convert(node, rendered, inlets)}

    def _convert_incremental(self, node: DbtNode, rendered: RenderedText, inlets: Sequence[str]) -> Document:
        """An upsert or an append of new rows; of all rows where the filter says nothing that is understood."""
        strategy, unique_key = node.config.get("incremental_strategy"), _list_names(node.config.get("unique_key"))
        newest = self._find_filter(node, rendered)
        if strategy == "insert_overwrite" or not (unique_key or newest):
            reason = "each run recomputes all of its rows, as --full-refresh does"
            remedy = "`partition` by the column of its filter, so that only changed partitions are computed"
            self._add_note(node, f"incremental {node.name}", reason, remedy)
            return {}
        is_upsert = unique_key and strategy != "append"
        write = {"write": {"upsert": {"keys": unique_key}} if is_upsert else "append"}
        if newest is not None:
            inlet = inlets[newest.reference]
            read = self._read_again(node, inlet, newest) if is_upsert else self._read_once(node, newest)
            return {"inlets": {inlet: {"read": read}}, **write}
        if rendered.is_conditional:
            reason = "its filter is not of the form `column > max(column)`, so each run reads everything"
            self._add_note(node, f"is_incremental() of {node.name}", reason, "`read: {after: column}` of the inlet")
        return {"strategy": "every_instance", **write}

    def _read_again(self, node: DbtNode, inlet: str, newest: IncrementalFilter) -> Document:
        """The read of an upsert; what `>=` reads again is added once the types of all columns are known."""
        if newest.is_inclusive and not newest.overlap:
            self.inclusive.append((node, inlet, newest.column))
        return {"after": newest.column, **({"overlap": newest.overlap} if newest.overlap else {})}

    def _read_once(self, node: DbtNode, newest: IncrementalFilter) -> Document:
        """The read of an append, which would store twice what is read again."""
        if newest.is_inclusive or newest.overlap:
            reason = (
                f"rows may be missing: only those above the highest {newest.column} are read; "
                "dbt appends others a second time"
            )
            self._add_note(node, f"is_incremental() of {node.name}", reason, "`upsert` with keys, and `overlap`")
        return {"after": newest.column}

    def _repeat_equal_values(self, node: DbtNode, inlet: str, column: str) -> None:
        """Lets an upsert read rows with the highest value again, as `>=` does; every row where it is no time."""
        document = self.documents[self.assets[_key(node)]]
        subject, kind = f"is_incremental() of {node.name}", (self._find_columns(inlet) or {}).get(column.lower(), "")
        if kind and not kind.startswith(("DATE", "TIMESTAMP")):
            del document["inlets"]
            document["strategy"] = "every_instance"
            reason = f"`>=` reads rows with the highest {column} again; as it is {kind}, each run reads everything"
            self._add_note(node, subject, reason, f"`read: {{after: {column}}}`, if no other row gets an equal value")
            return
        document["inlets"][inlet]["read"]["overlap"] = "1s"
        if not kind:
            reason = f"`>=` becomes an overlap of a second, for which {column} must be a date or a timestamp"
            self._add_note(node, subject, reason, "if it is neither, `strategy: every_instance` without `read`")

    def _find_filter(self, node: DbtNode, rendered: RenderedText) -> IncrementalFilter | None:
        """What ``is_incremental()`` adds; None where nothing or something else."""
        if not rendered.is_conditional:
            return None
        incremental = self._render(node, is_incremental=True)
        return find_filter(rendered.text, incremental.text, self.project.dialect)

    def _convert_microbatch(self, node: DbtNode, rendered: RenderedText, inlets: Sequence[str]) -> Document:
        """The keys of a microbatch: a partition by time; inlets that have an ``event_time`` are mapped by it."""
        grain, column = str(node.config.get("batch_size")), node.config.get("event_time")
        if grain not in _GRAINS or not column:
            raise NotRenderableError("a microbatch needs event_time and batch_size")
        nodes = {_key(each): each for each in self.nodes}
        by_time: Document = {}
        for reference, inlet in zip(rendered.references, inlets, strict=True):
            upstream = nodes.get(reference)
            if upstream and (event_time := upstream.config.get("event_time")):
                by_time[inlet] = {"partitions": {"from": str(event_time)}}
        if not by_time:
            reason = "none of what it reads has an event_time, so it is computed as a whole"
            self._add_note(
                node, f"microbatch {node.name}", reason, "`partition`, and `partitions: {from: …}` of an inlet"
            )
            return {}
        start = str(node.config.get("begin") or "")
        return {
            "inlets": by_time,
            "partition": {"by": grain, "column": str(column), **({"start": start} if start else {})},
        }

    def _convert_snapshot(self, node: DbtNode) -> Document:
        """The keys of a snapshot: an upsert that keeps a history by the column with the source's own time."""
        config, keys = node.config, _list_names(node.config.get("unique_key"))
        if config.get("strategy") != "timestamp" or not config.get("updated_at") or not keys:
            raise NotRenderableError("its strategy is not `timestamp`, so its rows have no time of their own")
        names = {"dbt_valid_from": "dbt_valid_from", "dbt_valid_to": "dbt_valid_to"}
        names |= config.get("snapshot_meta_column_names") or {}
        history = {
            "valid_from": names["dbt_valid_from"],
            "valid_to": names["dbt_valid_to"],
            "current": "dbt_is_current",
        }
        reason = "the columns dbt_scd_id and dbt_updated_at are not written; dbt_is_current is"
        self._add_note(node, f"snapshot {node.name}", reason, "")
        if config.get("hard_deletes", "ignore") != "ignore" or config.get("invalidate_hard_deletes"):
            self._add_note(node, f"hard_deletes of {node.name}", "rows that are gone stay current", "`delete_when`")
        upsert = {"keys": keys, "newest_by": str(config["updated_at"]), "history": history}
        return {"strategy": "every_instance", "write": {"upsert": upsert}}

    def _add_columns(self, node: DbtNode) -> None:
        """What is said of the columns; those that the query is not known to yield are reported."""
        asset = self.assets[_key(node)]
        document, known = self.documents[asset], self._find_columns(asset)
        columns: Document = dict(document.get("columns") or {})
        for name, column in node.columns.items():
            kind = columns.get(name) or self._contract_type(node, column)
            entry = {"type": kind, "description": column.description, "pii": column.is_private}
            entry = {key: value for key, value in entry.items() if value}
            if not entry:
                continue
            if asset in self.queries and name.lower() not in (known or {}):
                reason = "it is described, but may not be a column of its query"
                self._add_note(node, f"column {node.name}.{name}", reason, "`columns`")
            else:
                columns[name] = kind if entry.keys() == {"type"} else entry
        if columns:
            document["columns"] = columns

    def _contract_type(self, node: DbtNode, column: DbtColumn) -> str:
        """The type that an enforced contract gives to a column; empty without one."""
        contract = node.config.get("contract")
        is_enforced = isinstance(contract, dict) and contract.get("enforced") is True
        return convert_type(column.type, self.project.dialect) if is_enforced else ""

    def _find_columns(self, asset: str) -> Mapping[str, str] | None:
        """The types of an asset's columns, by name in lower case; None where the columns are unknown."""
        if asset not in self.columns:
            self.columns[asset] = None  # ends the recursion where models read each other
            rendered = self.rendered.get(asset)
            found: Mapping[str, str] | None
            if rendered is None:
                found = _declared_types(self.documents.get(asset, {}).get("columns") or {})
            else:
                upstream = [self._find_columns(self._inlet(kind, name)) for kind, name in rendered.references]
                found = find_columns(rendered.text, upstream, self.project.dialect)
            self.columns[asset] = None if found is None else {name.lower(): kind for name, kind in found.items()}
        return self.columns[asset]

    def _add_note(self, node: DbtNode, subject: str, reason: str, remedy: str) -> None:
        self.notes.append(ImportNote(node.file, node.line, subject, reason, remedy))


_REMEDY: Final = "`dbt compile`, and import again; until then it is a source that dbt writes"
_REMEDY_BY_HAND: Final = "the asset; until then it is a source that dbt writes"


def _key(node: DbtNode) -> tuple[str, str]:
    return ("source" if node.kind == "source" else "ref"), node.name


def _fills(seed: DbtNode, source: DbtNode) -> bool:
    """Whether a seed is loaded into the table that is a source, also below the prefix that dbt gives to schemas."""
    if seed.kind != "seed" or seed.relation[-1:] != source.relation[-1:]:
        return False
    own, schema = ("".join(node.relation[-2:-1]) for node in (seed, source))
    return schema == own or (own != "" and schema.endswith(f"_{own}"))


def _declared_types(columns: Mapping[str, Any]) -> dict[str, str] | None:
    """The types of an asset's ``columns``; None where it declares none."""
    kinds = {name: each.get("type", "") if isinstance(each, dict) else each for name, each in columns.items()}
    return {name: convert_type(str(kind or ""), "spark") for name, kind in kinds.items()} or None


def _list_names(value: Any) -> list[str]:  # noqa: ANN401  a name, a list of them or nothing
    return [value] if isinstance(value, str) else [str(each) for each in value or ()]
