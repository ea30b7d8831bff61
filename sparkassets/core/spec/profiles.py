"""Profiles of a project file: the chosen one, its variables, and that no two share a state or a warehouse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from yaml.nodes import MappingNode, Node, ScalarNode

from sparkassets.core.spec.file_models import ProjectFile
from sparkassets.core.spec.model import NAMED
from sparkassets.core.spec.paths import resolve_path
from sparkassets.core.spec.scalars import substitute_variables
from sparkassets.core.spec.yaml_document import DocumentPlace, YamlDocument
from sparkassets.core.suggestions import did_you_mean
from sparkassets.core.table_names import format_table_name
from sparkassets.core.variables import PROFILE, VariableLookup
from sparkassets.errors import InputError

_OWN: Final = ("state", "warehouse")
"""Keys whose value no two profiles may share."""


def chosen_profile(document: YamlDocument, environment: Mapping[str, str]) -> str:
    """The profile that holds: what is asked for, else the file's `profile`; empty where neither says one.

    Raises:
        InputError: There is none of that name.
    """
    asked = environment.get(PROFILE, "")
    names = _names(document)
    if asked and asked not in names:
        where = document.file.label
        if not names:
            raise InputError(f"no profile {asked!r}: {where} has no `profiles`", hint="leave --profile out, or add it")
        raise InputError(f"no profile {asked!r} in {where}", hint=did_you_mean(asked, names))
    usual = node_at(document.root, ("profile",))
    return asked or (
        substitute_variables(usual.value, environment=environment)[0] if isinstance(usual, ScalarNode) else ""
    )


def variables_of(
    document: YamlDocument, profile: str, environment: Mapping[str, str], *, settable: bool = True
) -> Mapping[str, str]:
    """The variables of a profile; as they are written where they name one that is not known here.

    What is wrong with them is found when the file is read.
    """
    node = node_at(document.root, ("profiles", profile, "variables"))
    found: dict[str, str] = {}
    for name, value in node.value if isinstance(node, MappingNode) else ():
        if isinstance(name, ScalarNode) and isinstance(value, ScalarNode):
            text, bad = substitute_variables(
                value.value, environment=VariableLookup(environment, found, settable=settable)
            )
            found[name.value] = value.value if bad else text
    return found


def with_profile(at: DocumentPlace, keys: ProjectFile, profile: str) -> ProjectFile:
    """The keys of the project file as they are under a profile."""
    own = (keys.profiles or {}).get(profile)
    if own is None:
        if profile and (at / "profile").exists and profile == keys.profile:
            (at / "profile").add_problem(
                f"there is no profile {profile!r}", hint=did_you_mean(profile, keys.profiles or {})
            )
        return keys
    given = own.model_dump(exclude_none=True, exclude={"variables", "spark", "secrets", "state", "storage", "sinks"})
    merged = {
        "spark": {**keys.spark, **own.spark},
        "secrets": {**keys.secrets, **own.secrets},
        "storage": {**keys.storage, **own.storage},
        "state": own.state or keys.state,
        "sinks": keys.sinks if own.sinks is None else own.sinks,
    }
    return keys.model_copy(update={**given, **merged})


def profile_key_place(at: DocumentPlace, key: str, profile: str) -> DocumentPlace:
    """Where a key stands that a profile may say."""
    own = at / "profiles" / profile / key
    return own if own.exists else at / key


def refuse_shared(
    at: DocumentPlace, keys: ProjectFile, *, root: str, profile: str, environment: Mapping[str, str]
) -> None:
    """Refuses two profiles, or one and the file without a profile, that would write to one state or warehouse.

    What was set for this invocation counts for the profile that holds.
    """
    document, profiles = at.document, keys.profiles or {}
    for key in _OWN:
        taken: dict[str, str] = {}
        for name in profiles if keys.profile is not None else ("", *profiles):
            place = _written_place(document, name, key, environment, settable=name == profile)
            first = taken.setdefault(resolve_path(place, root=root), name)
            if first == name:
                continue
            other = f"profile {first!r}" if first else "the project without a profile"
            hint = f"give it a `{key}` of its own, or a variable in it another value"
            (at / "profiles" / name).add_key_problem(f"profile {name!r} has the {key} of {other}: {place}", hint=hint)


def _written_place(
    document: YamlDocument, profile: str, key: str, environment: Mapping[str, str], *, settable: bool
) -> str:
    """A profile's `state` or `warehouse`; as written where a variable is not known here."""
    for path in (("profiles", profile, key), (key,)):
        node = node_at(document.root, path)
        given = variables_of(document, profile, environment, settable=settable)
        known = VariableLookup(environment, given, settable=settable)
        if isinstance(node, ScalarNode):
            return _text(node, known)
        if isinstance(node, MappingNode):
            told = {name.value: _text(each, known) for name, each in node.value if isinstance(each, ScalarNode)}
            return told.get("path") or f"{NAMED}{format_table_name((told.get('catalog', ''), told.get('schema', '')))}"
    return str(ProjectFile.model_fields[key].default)


def _text(node: ScalarNode, known: Mapping[str, str]) -> str:
    text, bad = substitute_variables(node.value, environment=known)
    return node.value if bad else text


def _names(document: YamlDocument) -> list[str]:
    node = node_at(document.root, ("profiles",))
    return [name.value for name, _ in node.value] if isinstance(node, MappingNode) else []


def node_at(root: Node, path: tuple[str, ...]) -> Node | None:
    """The value at a path of keys."""
    node: Node | None = root
    for step in path:
        found: Iterator[Node] = iter(())
        if isinstance(node, MappingNode):
            found = (value for name, value in node.value if name.value == step)
        node = next(found, None)
    return node
