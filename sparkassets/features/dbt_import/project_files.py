"""Reads a dbt project from its files, as dbt would parse them, without dbt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import yaml

from sparkassets.core.phrases import few
from sparkassets.errors import InputError
from sparkassets.features.dbt_import.dbt_nodes import (
    DbtColumn,
    DbtMacro,
    DbtNode,
    DbtProject,
    DbtTest,
    ImportNote,
    NodeKind,
)
from sparkassets.features.dbt_import.dbt_rendering import DbtRenderer, NotRenderableError, split_macros

_SNAPSHOT: Final = re.compile(r"\{%-?\s*snapshot\s+(\w+)\s*-?%\}(.*?)\{%-?\s*endsnapshot\s*-?%\}", re.DOTALL)
_DOCUMENT: Final = re.compile(r"\{%-?\s*docs\s+(\w+)\s*-?%\}(.*?)\{%-?\s*enddocs\s*-?%\}", re.DOTALL)
_CONFIG_KEYS: Final = ("tags", "meta", "group", "docs", "access")
_TEST_KEYS: Final = ("config", "name", "description", "arguments", "where", "severity", "tags", "meta")
_ADAPTERS: Final = {"databricks": "databricks", "sqlserver": "tsql", "athena": "athena"}
_OLD_PATHS: Final = {"model-paths": "source-paths", "seed-paths": "data-paths"}
UNSUPPORTED: Final = {
    "exposures": ("exposure", "sparkassets declares no consumers", "an asset that reads these and `write: self`"),
    "metrics": ("metric", "sparkassets has no semantic layer", "an asset with the aggregation"),
    "semantic_models": ("semantic model", "sparkassets has no semantic layer", ""),
    "saved_queries": ("saved query", "sparkassets has no semantic layer", "an asset with the query"),
    "unit_tests": ("unit test", "its rows have no types here", "a test with `given` and `expect` in tests/"),
}


class PlacedMap(dict[str, Any]):
    """A map of YAML that knows the line on which it begins."""

    line = 0


class _PlacingLoader(yaml.SafeLoader):
    """Makes a `PlacedMap` of each map."""


def _construct_map(loader: _PlacingLoader, node: yaml.MappingNode) -> Iterator[PlacedMap]:
    """Yields the map before it is filled, as PyYAML expects it of maps that anchors may refer to from within."""
    placed = PlacedMap()
    placed.line = node.start_mark.line + 1
    yield placed
    placed.update({str(key): value for key, value in loader.construct_mapping(node).items()})


_PlacingLoader.add_constructor("tag:yaml.org,2002:map", _construct_map)


def adapter_dialect(adapter: str) -> str:
    """The SQL of an adapter, as sqlglot names it."""
    return _ADAPTERS.get(adapter, adapter)


def read_project_files(folder: Path, variables: Mapping[str, Any], dialect: str | None) -> DbtProject:
    """The project in a folder.

    Args:
        folder: Holds ``dbt_project.yml``.
        variables: Values of ``var`` that replace those of the project.
        dialect: Its SQL; None for what ``profiles.yml`` in the folder says, else Spark's.

    Raises:
        InputError: There is no project, or a file of it cannot be read.
    """
    try:
        return _ProjectReader(folder, variables, dialect).read_project()
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{str(folder)!r} cannot be read as a dbt project: {error!r}") from error


class _ProjectReader:
    """Reads the files of one project."""

    def __init__(self, folder: Path, variables: Mapping[str, Any], dialect: str | None) -> None:
        if not (folder / "dbt_project.yml").is_file():
            raise InputError(f"{str(folder)!r} cannot be imported: it has no dbt_project.yml")
        self.folder = folder
        self.options = _load_yaml(folder / "dbt_project.yml")
        self.name = str(self.options.get("name", folder.resolve().name))
        own = self.options.get("vars") or {}
        self.variables = {**own, **(own.get(self.name) or {}), **variables}
        self.notes: list[ImportNote] = []
        self.dialect = dialect or self._read_dialect()
        self.patches: dict[tuple[str, str], tuple[str, PlacedMap]] = {}
        self.owners: dict[str, str] = {}

    def read_project(self) -> DbtProject:
        """Reads all files; the YAML comes first, because models take their descriptions and tests from it."""
        sources = [
            source for file, content in self._property_files() for source in self._read_properties(file, content)
        ]
        nodes = [*self._models(), *self._snapshots(), *self._seeds(), *sources]
        for key in ("on-run-start", "on-run-end"):
            if self.options.get(key):
                self._add_note(
                    "dbt_project.yml", 0, key, "there are no hooks of a run", "a script beside `sparkassets run`"
                )
        paths = self._files("test-paths", "tests", ".sql")
        query_tests = [DbtTest(path.stem, "", {}, {}, self._place(path), 1) for path in paths]
        return DbtProject(
            self.name, self.dialect, self.variables, nodes, self.owners, self.macros, query_tests, tuple(self.notes)
        )

    @cached_property
    def macros(self) -> list[DbtMacro]:
        """Macros of the project and of the packages that are installed in it."""
        found = [
            macro
            for path in self._files("macro-paths", "macros", ".sql")
            for macro in split_macros(self.name, _read_text(path))
        ]
        for folder in (self.options.get("packages-install-path"), "dbt_packages", "dbt_modules"):
            for file in sorted((self.folder / folder).glob("*/dbt_project.yml")) if folder else ():
                package = str(_load_yaml(file).get("name", file.parent.name))
                for path in sorted((file.parent / "macros").rglob("*.sql")):
                    found += split_macros(package, _read_text(path))
        return found

    @cached_property
    def renderer(self) -> DbtRenderer:
        """Renders configuration and descriptions."""
        texts = (_read_text(path) for path in self._files("model-paths", "models", ".md"))
        documents = {match[1]: match[2].strip() for text in texts for match in _DOCUMENT.finditer(text)}
        return DbtRenderer(self.name, self.variables, self.macros, dialect=self.dialect, documents=documents)

    def _read_dialect(self) -> str:
        """The SQL dialect of the profile's adapter; Spark's, with a note, where no profile says one."""
        profiles = self.folder / "profiles.yml"
        if profiles.is_file():
            profile = _load_yaml(profiles).get(str(self.options.get("profile", self.name))) or {}
            outputs = profile.get("outputs") or {}
            output: Mapping[str, Any] = outputs.get(profile.get("target")) or next(iter(outputs.values()), {})
            if output.get("type"):
                return adapter_dialect(str(output["type"]))
        reason = "there is no profiles.yml beside it, so its SQL is taken for Spark's"
        self._add_note("dbt_project.yml", 0, "adapter", reason, "--dialect duckdb, if that is what it is")
        return "spark"

    def _add_note(self, file: str, line: int, subject: str, reason: str, remedy: str) -> None:
        self.notes.append(ImportNote(file, line, subject, reason, remedy))

    def _place(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _files(self, key: str, default: str, *endings: str) -> list[Path]:
        """Files of these endings in the folders that the project names."""
        folders = self.options.get(key) or self.options.get(_OLD_PATHS.get(key, "")) or [default]
        found = {path: None for each in folders for path in sorted((self.folder / each).rglob("*"))}
        return [path for path in found if path.suffix in endings]

    def _property_files(self) -> list[tuple[str, PlacedMap]]:
        keys = {"model-paths": "models", "seed-paths": "seeds", "snapshot-paths": "snapshots"}
        paths = {path: None for key, default in keys.items() for path in self._files(key, default, ".yml", ".yaml")}
        return [(self._place(path), _load_yaml(path)) for path in paths]

    def _read_properties(self, file: str, content: PlacedMap) -> Iterator[DbtNode]:
        """Remembers what the file says of models, seeds and snapshots; yields its sources."""
        for group in content.get("groups") or ():
            self.owners[str(group["name"])] = owner_name(group)
        for kind in ("model", "seed", "snapshot"):
            for patch in content.get(f"{kind}s") or ():
                self.patches[kind, str(patch["name"])] = (file, patch)
        self._report_unsupported(file, content)
        for source in content.get("sources") or ():
            for table in source.get("tables") or ():
                yield self._source(file, source, table)

    def _report_unsupported(self, file: str, content: PlacedMap) -> None:
        for key, (kind_text, reason, remedy) in UNSUPPORTED.items():
            if declared := content.get(key):
                names = few([str(each.get("name")) for each in declared])
                self._add_note(file, declared[0].line, f"{kind_text} {names}", reason, remedy)

    def _source(self, file: str, source: PlacedMap, table: PlacedMap) -> DbtNode:
        """A table of a source, named ``group.table``; reports a freshness, which only readers can require here."""
        name = f"{source['name']}.{table['name']}"
        config = self._native(self._merge([source.get("config") or {}, _config_of(source), _config_of(table)]))
        if table.get("freshness") or source.get("freshness"):
            reason = "readers require freshness, not sources"
            self._add_note(file, table.line, f"freshness of {name}", reason, "`fresh_within` of the inlets")
        relation = (
            source.get("database"),
            source.get("schema", source["name"]),
            table.get("identifier", table["name"]),
        )
        return DbtNode(
            "source",
            name,
            file,
            table.line,
            description=self._text(table.get("description") or source.get("description")),
            config=config,
            columns=self._columns(table),
            tests=tuple(self._tests(file, table)),
            relation=tuple(str(each) for each in relation if each),
        )

    def _models(self) -> Iterator[DbtNode]:
        for path in self._files("model-paths", "models", ".sql", ".py"):
            text = "" if path.suffix == ".py" else _read_text(path)
            if not _SNAPSHOT.search(text):
                yield self._node("model", path.stem, path, 1, text)

    def _snapshots(self) -> Iterator[DbtNode]:
        """Yields the snapshots that are blocks in SQL, also among the models, and those that YAML declares."""
        for path in [
            *self._files("snapshot-paths", "snapshots", ".sql"),
            *self._files("model-paths", "models", ".sql"),
        ]:
            text = _read_text(path)
            for match in _SNAPSHOT.finditer(text):
                yield self._node("snapshot", match[1], path, text.count("\n", 0, match.start()) + 1, match[2].strip())
        for (kind, name), (file, patch) in self.patches.items():
            if kind == "snapshot" and patch.get("relation"):
                text = f"select * from {{{{ {patch['relation']} }}}}"  # noqa: S608  a template
                yield self._node("snapshot", name, self.folder / file, patch.line, text)

    def _seeds(self) -> Iterator[DbtNode]:
        for path in self._files("seed-paths", "seeds", ".csv"):
            yield self._node("seed", path.stem, path, 1, "")

    def _node(self, kind: NodeKind, name: str, path: Path, line: int, text: str) -> DbtNode:
        """A node with its configuration from all places; later ones replace earlier ones.

        From outside in: the folders of dbt_project.yml, the YAML beside it, and ``config(…)`` in its own SQL.
        """
        file = self._place(path)
        patch_file, patch = self.patches.get((kind, name), (file, PlacedMap()))
        configs = [*self._folder_configs(kind, Path(file), name), _config_of(patch)]
        config = self._native(self._merge(configs))
        try:
            written = self.renderer.render(text, config=config).config
        except NotRenderableError:
            written = {}  # where the query is converted, it is reported
        config = self._merge([config, written])
        relation = (config.get("database"), config.get("schema"), config.get("alias") or name)
        return DbtNode(
            kind,
            name,
            file,
            line,
            text=text,
            description=self._text(patch.get("description")),
            config=config,
            columns=self._columns(patch),
            tests=tuple(self._tests(patch_file, patch)),
            relation=tuple(str(each) for each in relation if each),
        )

    def _folder_configs(self, kind: NodeKind, file: Path, name: str) -> Iterator[Mapping[str, Any]]:
        """What dbt_project.yml says of a node, from the outermost folder to its own."""
        level = self.options.get(f"{kind}s")  # holds keys with + or without, and maps for folders
        for part in ("", self.name, *file.parts[1:-1], name):
            level = level.get(part) if part and isinstance(level, dict) else level
            if not isinstance(level, dict):
                return
            plain = {key: value for key, value in level.items() if key[:1] == "+" or not isinstance(value, dict)}
            yield {key.removeprefix("+"): value for key, value in plain.items()}

    def _merge(self, configs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Later ones replace earlier ones, but for tags and meta, which add up."""
        merged: dict[str, Any] = {}
        for config in configs:
            tags = [*_list_texts(merged.get("tags")), *_list_texts(config.get("tags"))]
            meta = {**(merged.get("meta") or {}), **(config.get("meta") or {})}
            merged |= {**config, **({"tags": tags} if tags else {}), **({"meta": meta} if meta else {})}
        return merged

    def _native(self, value: Any) -> Any:  # noqa: ANN401  whatever YAML holds
        """The value with its templates rendered, each of the type that it looks like."""
        if isinstance(value, dict):
            return {key: self._native(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._native(each) for each in value]
        return yaml.safe_load(self._text(value)) if isinstance(value, str) and "{{" in value else value

    def _text(self, value: object) -> str:
        """A text with its templates rendered; as it is where that is impossible."""
        text = str(value or "").strip()
        try:
            return self.renderer.render(text).text.strip() if "{{" in text else text
        except NotRenderableError:
            return text

    def _columns(self, patch: PlacedMap) -> dict[str, DbtColumn]:
        return {
            str(column["name"]): DbtColumn(
                self._text(column.get("description")), str(column.get("data_type") or ""), is_private_column(column)
            )
            for column in patch.get("columns") or ()
        }

    def _tests(self, file: str, patch: PlacedMap) -> Iterator[DbtTest]:
        for column in (None, *(patch.get("columns") or ())):
            place = patch if column is None else column
            for test in [*(place.get("tests") or ()), *(place.get("data_tests") or ())]:
                yield self._parse_test(file, place, "" if column is None else str(column["name"]), test)

    def _parse_test(self, file: str, place: PlacedMap, column: str, test: Any) -> DbtTest:  # noqa: ANN401
        """A test of a model or ``column`` as dbt's YAML writes it: its name alone, or ``{name: arguments}``.

        ``where`` and ``severity`` may stand among the arguments or under ``config``.
        """
        name, given = (test, {}) if isinstance(test, str) else next(iter(test.items()))
        given = self._native(given) or {}
        config = {**(given.get("config") or {}), **{key: given[key] for key in ("where", "severity") if key in given}}
        own = {key: value for key, value in given.items() if key not in _TEST_KEYS and key != "column_name"}
        arguments = {**own, **(given.get("arguments") or {})}
        line = getattr(test, "line", place.line)
        return DbtTest(str(name), str(given.get("column_name", column)), arguments, config, file, line)


def is_private_column(column: Mapping[str, Any]) -> bool:
    """Whether the meta of a column says that it is personal data."""
    meta = {**(column.get("meta") or {}), **((column.get("config") or {}).get("meta") or {})}
    return any(meta.get(key) is True for key in ("pii", "contains_pii", "is_pii"))


def owner_name(group: Mapping[str, Any]) -> str:
    """Who owns a group; empty where only an unknown way of saying it does."""
    owner = group.get("owner") or {}
    return str(owner.get("name") or owner.get("email") or "")


def _config_of(patch: Mapping[str, Any]) -> dict[str, Any]:
    config = dict(patch.get("config") or {})
    return {**{key: patch[key] for key in _CONFIG_KEYS if key in patch}, **config}


def _list_texts(value: Any) -> list[str]:  # noqa: ANN401
    return [value] if isinstance(value, str) else [str(each) for each in value or ()]


def _load_yaml(path: Path) -> PlacedMap:
    """The map in a file, empty for an empty one.

    Raises:
        InputError: It is no YAML.
    """
    try:
        content = yaml.load(_read_text(path), Loader=_PlacingLoader)  # noqa: S506  a loader of plain values
    except yaml.YAMLError as error:
        raise InputError(f"{str(path)!r} cannot be parsed as YAML: {error}") from error
    return content if isinstance(content, PlacedMap) else PlacedMap()


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}") from error
