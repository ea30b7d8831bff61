"""Reads a dbt project from the manifest that dbt wrote: everything is resolved there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sparkassets.errors import InputError
from sparkassets.features.dbt_import.dbt_nodes import (
    DbtColumn,
    DbtMacro,
    DbtNode,
    DbtProject,
    DbtTest,
    ImportNote,
)
from sparkassets.features.dbt_import.project_files import UNSUPPORTED, adapter_dialect, is_private_column, owner_name

MANIFEST: Final = Path("target/manifest.json")
_KINDS: Final = frozenset({"model", "seed", "snapshot"})


def read_manifest(path: Path, variables: Mapping[str, Any], dialect: str | None) -> DbtProject:
    """The project of a manifest; arguments as for `read_project_files`.

    Raises:
        InputError: It is no manifest of dbt.
    """
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        metadata = manifest["metadata"]
        tests, query_tests = _read_tests(manifest)
        nodes = [_read_node(key, node, tests) for key, node in _parts(manifest)]
        macros = [
            DbtMacro(each["package_name"], each["name"], each["macro_sql"]) for each in manifest["macros"].values()
        ]
        owners = {each["name"]: owner_name(each) for each in manifest.get("groups", {}).values()}
        adapter = dialect or adapter_dialect(str(metadata.get("adapter_type") or "spark"))
        notes = list(_list_unsupported(manifest))
        return DbtProject(metadata["project_name"], adapter, variables, nodes, owners, macros, query_tests, notes)
    except (KeyError, TypeError, ValueError) as error:
        hint = "run `dbt compile` again, or delete it to read the project's files"
        raise InputError(f"{str(path)!r} cannot be read as a manifest of dbt: {error!r}", hint=hint) from error


def _parts(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Models, seeds, snapshots and sources, with their unique identifiers."""
    for key, node in manifest["nodes"].items():
        if node["resource_type"] in _KINDS:
            yield key, node
    yield from manifest["sources"].items()


def _read_node(key: str, node: Mapping[str, Any], tests: Mapping[str, list[DbtTest]]) -> DbtNode:
    """A node of the manifest, whose identifier ``key`` its tests refer to; a versioned model is named ``orders_v2``."""
    name = f"{node['source_name']}.{node['name']}" if node["resource_type"] == "source" else node["name"]
    if node.get("version"):
        name = f"{name}_v{node['version']}"
    table = node.get("identifier") or node.get("alias") or node["name"]
    text = {key: node.get(key) or "" for key in ("raw_code", "compiled_code", "description", "relation_name")}
    return DbtNode(
        node["resource_type"],
        name,
        node["original_file_path"],
        1,
        text=text["raw_code"],
        compiled=text["compiled_code"],
        description=text["description"],
        config={**node["config"], "tags": node.get("tags") or (), "meta": node.get("meta") or {}},
        columns={column["name"]: _read_column(column) for column in node["columns"].values()},
        tests=tuple(tests.get(key, ())),
        relation=tuple(map(str, filter(None, (node.get("database"), node["schema"], table)))),
        compiled_relation=text["relation_name"],
    )


def _read_column(column: Mapping[str, Any]) -> DbtColumn:
    return DbtColumn(column.get("description") or "", column.get("data_type") or "", is_private_column(column))


def _read_tests(manifest: Mapping[str, Any]) -> tuple[dict[str, list[DbtTest]], list[DbtTest]]:
    """Generic tests by the identifier of their node, and the tests that are queries of their own."""
    tests: dict[str, list[DbtTest]] = {}
    query_tests = []
    for node in manifest["nodes"].values():
        if node["resource_type"] == "test" and node.get("test_metadata"):
            tests.setdefault(str(node.get("attached_node")), []).append(_read_test(node))
        elif node["resource_type"] == "test":
            query_tests.append(DbtTest(node["name"], "", {}, {}, node["original_file_path"], 1))
    return tests, query_tests


def _read_test(node: Mapping[str, Any]) -> DbtTest:
    """A generic test, with its package in its name; newer releases of dbt nest its arguments under ``arguments``."""
    metadata = node["test_metadata"]
    package = metadata.get("namespace")
    given = {key: value for key, value in metadata["kwargs"].items() if key not in ("model", "column_name")}
    arguments = {**given, **(given.pop("arguments", None) or {})}
    return DbtTest(
        f"{package}.{metadata['name']}" if package else metadata["name"],
        str(node.get("column_name") or metadata["kwargs"].get("column_name") or ""),
        arguments,
        node["config"],
        node["original_file_path"],
        0,
    )


def _list_unsupported(manifest: Mapping[str, Any]) -> Iterator[ImportNote]:
    for key, (kind_text, reason, remedy) in UNSUPPORTED.items():
        for each in manifest.get(key, {}).values():
            yield ImportNote(each["original_file_path"], 0, f"{kind_text} {each['name']}", reason, remedy)
