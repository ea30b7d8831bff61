"""Writes the YAML of a new project as a person would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

_HEADS: Final = frozenset({"asset", "project"})
"""Keys of the maps that are files."""
_SHORT: Final = 90
"""Characters of a map that fits on a line."""


class _ProjectDumper(yaml.SafeDumper):
    """Writes short lists and maps on one line, texts of several lines as blocks, and indents lists in maps."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().increase_indent(flow, indentless=False)


def _represent_map(dumper: yaml.SafeDumper, value: Mapping[str, Any]) -> yaml.Node:
    is_short = len(str(value)) < _SHORT and not _HEADS & value.keys()
    return dumper.represent_mapping("tag:yaml.org,2002:map", value.items(), flow_style=is_short)


def _represent_list(dumper: yaml.SafeDumper, value: Sequence[Any]) -> yaml.Node:
    is_flat = not any(isinstance(each, dict) for each in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_flat)


def _represent_text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    text = value.replace("${", "$${")  # what would be a variable of the environment
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_ProjectDumper.add_representer(dict, _represent_map)
_ProjectDumper.add_representer(list, _represent_list)
_ProjectDumper.add_representer(tuple, _represent_list)
_ProjectDumper.add_representer(str, _represent_text)


def write_yaml(document: Mapping[str, Any]) -> bytes:
    """The file of a map."""
    text: str = yaml.dump(document, Dumper=_ProjectDumper, sort_keys=False, allow_unicode=True, width=110)
    return text.encode()
