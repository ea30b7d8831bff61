"""Reads the project file: profiles, secrets, and where the journal is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from yaml.nodes import MappingNode, Node, ScalarNode

from sparkassets.core.credentials import secret_in_text
from sparkassets.core.entry_points import InstalledKinds
from sparkassets.core.instants import DAY
from sparkassets.core.spec import yaml_values
from sparkassets.core.spec.drafts import DURATIONS, ProjectDraft, resolve_path
from sparkassets.core.spec.project_models import ProjectFile, StateMap
from sparkassets.core.spec.project_spec import SecretRef
from sparkassets.core.spec.shape_checks import check_shape
from sparkassets.core.spec.storage_location import NAMED
from sparkassets.core.spec.stores import check_stores
from sparkassets.core.spec.time_bounds import check_zone, fixed_seconds
from sparkassets.core.spec.yaml_document import DocumentPlace, KeyPath, SourceFile, YamlDocument
from sparkassets.core.spec.yaml_text import compose_documents
from sparkassets.core.spec.yaml_values import substitute_variables, variables_in
from sparkassets.core.suggestions import did_you_mean
from sparkassets.core.table_names import format_table_name
from sparkassets.core.variables import PROFILE, VariableLookup
from sparkassets.errors import InputError, SpecError

_UNSHARED_KEYS: Final = ("state", "warehouse")
"""Keys whose value no two profiles may share."""


def chosen_profile(document: YamlDocument, environment: Mapping[str, str]) -> str:
    """The profile in use: the one asked for, else the file's `profile`; empty if neither names one.

    Raises:
        InputError: The file has no profile of the name that was asked for.
    """
    requested = environment.get(PROFILE, "")
    names = _profile_names(document)
    if requested and requested not in names:
        label = document.file.label
        if not names:
            raise InputError(
                f"unknown profile {requested!r}: {label} has no `profiles`", hint="leave --profile out, or add it"
            )
        raise InputError(f"unknown profile {requested!r} in {label}", hint=did_you_mean(requested, names))
    default_node = node_at(document.root, ("profile",))
    return requested or (
        substitute_variables(default_node.value, environment=environment)[0]
        if isinstance(default_node, ScalarNode)
        else ""
    )


def variables_of(
    document: YamlDocument, profile: str, environment: Mapping[str, str], *, settable: bool = True
) -> Mapping[str, str]:
    """The variables of a profile by name, with variables in their values replaced.

    A value with an unknown variable stays as it is written; reading the file reports that later. ``settable`` says
    whether what was set for this invocation goes first.
    """
    node = node_at(document.root, ("profiles", profile, "variables"))
    variables: dict[str, str] = {}
    for name, value in node.value if isinstance(node, MappingNode) else ():
        if isinstance(name, ScalarNode) and isinstance(value, ScalarNode):
            text, unknown = substitute_variables(
                value.value, environment=VariableLookup(environment, variables, settable=settable)
            )
            variables[name.value] = value.value if unknown else text
    return variables


def with_profile(at: DocumentPlace, keys: ProjectFile, profile: str) -> ProjectFile:
    """The project's keys with those of the profile in their place.

    ``spark``, ``secrets`` and ``storage`` are merged key by key; all other keys of the profile replace the project's.
    """
    profile_keys = (keys.profiles or {}).get(profile)
    if profile_keys is None:
        if profile and (at / "profile").exists and profile == keys.profile:
            (at / "profile").add_problem(
                f"unknown profile {profile!r}", hint=did_you_mean(profile, keys.profiles or {})
            )
        return keys
    replaced = profile_keys.model_dump(
        exclude_none=True, exclude={"variables", "spark", "secrets", "state", "storage", "sinks"}
    )
    merged = {
        "spark": {**keys.spark, **profile_keys.spark},
        "secrets": {**keys.secrets, **profile_keys.secrets},
        "storage": {**keys.storage, **profile_keys.storage},
        "state": profile_keys.state or keys.state,
        "sinks": keys.sinks if profile_keys.sinks is None else profile_keys.sinks,
    }
    return keys.model_copy(update={**replaced, **merged})


def profile_key_place(at: DocumentPlace, key: str, profile: str) -> DocumentPlace:
    """The place of a key's value in use: below the profile where that has the key, else in the project."""
    profile_place = at / "profiles" / profile / key
    return profile_place if profile_place.exists else at / key


def refuse_shared(
    at: DocumentPlace, keys: ProjectFile, *, root: str, profile: str, environment: Mapping[str, str]
) -> None:
    """Refuses two profiles, or a profile and the project without one, that write to the same state or warehouse.

    Variables set for this invocation count for the profile in use only: others run without them.
    """
    document, profiles = at.document, keys.profiles or {}
    for key in _UNSHARED_KEYS:
        profiles_by_place: dict[str, str] = {}
        for name in profiles if keys.profile is not None else ("", *profiles):
            place = _written_place(document, name, key, environment, settable=name == profile)
            first = profiles_by_place.setdefault(resolve_path(place, root=root), name)
            if first == name:
                continue
            other = f"profile {first!r}" if first else "the project without a profile"
            hint = f"give it a different `{key}`, or change the value of a variable in it"
            (at / "profiles" / name).add_key_problem(
                f"profile {name!r} has the same {key} as {other}: {place}", hint=hint
            )


def _written_place(
    document: YamlDocument, profile: str, key: str, environment: Mapping[str, str], *, settable: bool
) -> str:
    """A profile's `state` or `warehouse`, else the project's, else the default; with unknown variables as written."""
    for path in (("profiles", profile, key), (key,)):
        node = node_at(document.root, path)
        variables = variables_of(document, profile, environment, settable=settable)
        lookup = VariableLookup(environment, variables, settable=settable)
        if isinstance(node, ScalarNode):
            return _substitute_text(node, lookup)
        if isinstance(node, MappingNode):
            texts = {
                name.value: _substitute_text(each, lookup) for name, each in node.value if isinstance(each, ScalarNode)
            }
            return (
                texts.get("path") or f"{NAMED}{format_table_name((texts.get('catalog', ''), texts.get('schema', '')))}"
            )
    return str(ProjectFile.model_fields[key].default)


def _substitute_text(node: ScalarNode, lookup: Mapping[str, str]) -> str:
    """The scalar's text with its variables replaced; as written if one of them is unknown."""
    text, unknown = substitute_variables(node.value, environment=lookup)
    return node.value if unknown else text


def _profile_names(document: YamlDocument) -> list[str]:
    """The names of the file's profiles, in order, before the file is checked."""
    node = node_at(document.root, ("profiles",))
    return [name.value for name, _ in node.value] if isinstance(node, MappingNode) else []


def node_at(root: Node, path: tuple[str, ...]) -> Node | None:
    """The node of the value at a path of keys; None if there is none."""
    node: Node | None = root
    for step in path:
        matching: Iterator[Node] = iter(())
        if isinstance(node, MappingNode):
            matching = (value for name, value in node.value if name.value == step)
        node = next(matching, None)
    return node


DEFAULT_STATE: Final = "./state"
"""Where the state is unless its file says so."""
_OTHER_SCHEMES: Final = {
    "gcs": "gs://<bucket>/…",
    **dict.fromkeys(("wasb", "wasbs"), "abfss://<container>@<account>.dfs.core.windows.net/…"),
}
"""Schemes that deltalake opens with other credentials, or not at all, and the spelling to use instead."""


def state_place(state: str | StateMap, *, root: str) -> str:
    """The absolute path or URI of a state; for one in a catalog, ``table://`` followed by catalog and schema.

    >>> state_place("./state", root="/p/conf"), state_place(StateMap(catalog="main", schema="my ops"), root="/p")
    ('/p/conf/state', 'table://main.`my ops`')
    """
    if isinstance(state, str):
        return resolve_path(state, root=root)
    if path := _state_path(state):
        return resolve_path(path, root=root)
    return f"{NAMED}{format_table_name(_state_schema(state))}"


def describe_state(state: str | StateMap) -> str:
    """The state's location for people, as written in the file."""
    if isinstance(state, str):
        return state
    return _state_path(state) or format_table_name(_state_schema(state))


def is_kept_by_spark(state: str | StateMap) -> bool:
    """Whether a Spark session writes the state: it is in a catalog, or says ``commit: spark``."""
    return not isinstance(state, str) and (_state_path(state) is None or state.commit == "spark")


def state_texts(state: str | StateMap) -> list[tuple[str, str]]:
    """The texts that say where the state is, each with the key `state`, to be searched for secrets."""
    texts = (state,) if isinstance(state, str) else (state.catalog, state.schema_, _state_path(state))
    return [("state", text) for text in texts if text is not None]


def check_states(at: DocumentPlace, keys: ProjectFile) -> None:
    """Refuses, for the project and each profile, a state with no place, with two, or with an invalid name."""
    for name, profile_keys in (keys.profiles or {}).items():
        if profile_keys.state is not None:
            _check_state(at / "profiles" / name / "state", profile_keys.state)
    _check_state(at / "state", keys.state)


def _check_state(at: DocumentPlace, state: str | StateMap) -> None:
    """Refuses a state with no place or with two, with an invalid name, or where its commits would be unsafe."""
    if isinstance(state, str):
        _check_scheme(at, state)
        return
    written = {key: text for key, text in (("catalog", state.catalog), ("schema", state.schema_)) if text is not None}
    if (path := _state_path(state)) is not None:
        for key in written:
            (at / key).add_key_problem(f"{key!r} and 'path' exclude each other")
        if state.commit == "spark" and "://" not in path:
            (at / "commit").add_problem(
                "a state on a local disk cannot have 'commit: spark': Spark's local commits are safe in only one JVM",
                hint="leave 'commit' out",
            )
        if state.commit != "spark":
            _check_scheme(at / "path", path)
        return
    for key in ("catalog", "schema"):
        if key not in written:
            at.add_problem(f"the state lacks {key!r}; expected a folder, a URI or {{catalog: <name>, schema: <name>}}")
        elif not _is_name(written[key]):
            (at / key).add_problem(f"{written[key]!r} is not a valid {key} name")


def _check_scheme(at: DocumentPlace, path: str) -> None:
    """Refuses URI schemes that the driver cannot commit to safely, and names the scheme to use for the same store."""
    scheme, separator, _ = path.partition("://")
    if separator and (other := _OTHER_SCHEMES.get(scheme.lower())) is not None:
        at.add_problem(f"the state cannot be stored at '{scheme}://'; expected {other}")


def says_retention(state: str | StateMap) -> bool:
    """Whether the state says how long entries are kept; a profile's state without it has the project's retention."""
    return not isinstance(state, str) and state.retention is not None


def retention(at: DocumentPlace, state: str | StateMap) -> int | None:
    """How long entries are kept, in seconds; None for ever. Less than a day becomes a problem at ``at``."""
    text = None if isinstance(state, str) else state.retention
    if text is None:
        return None
    place, seconds = at / "retention", fixed_seconds(at / "retention", text)
    if 0 < seconds < DAY:
        place.add_problem(f"'retention' is {text!r}; expected at least 1d")
    return seconds


def _state_path(state: StateMap) -> str | None:
    """The path of the state; the default if the map only has `retention`, None for a state in a catalog."""
    has_no_place = (state.path, state.catalog, state.schema_) == (None, None, None)
    return DEFAULT_STATE if has_no_place and state.retention is not None else state.path


def _state_schema(state: StateMap) -> tuple[str, str]:
    """Catalog and schema of the state; ``unnamed`` in place of a wrong name, which is a problem already."""
    catalog, schema = (text if text and _is_name(text) else "unnamed" for text in (state.catalog, state.schema_))
    return catalog, schema


def _is_name(text: str) -> bool:
    """Whether the text can name a catalog or schema: it is not empty, and has neither a slash nor a dot."""
    return bool(text) and not any(character in text for character in "/.")


def secret_names(document: YamlDocument, profile: str) -> frozenset[str]:
    """The names of secrets in the project and its profile in use, found before the file's values are read.

    Reading must know them: ``${NAME}`` of a secret stays as it is, while other variables are replaced.
    """
    nodes = [node_at(document.root, path) for path in (("secrets",), ("profiles", profile, "secrets"))]
    pairs = [pair for node in nodes if isinstance(node, MappingNode) for pair in node.value]
    return frozenset(name.value for name, _ in pairs if isinstance(name, ScalarNode))


def refuse_misplaced_secrets(at: DocumentPlace, keys: ProjectFile) -> None:
    """Refuses secrets in profiles outside their Spark settings, such as in paths, which messages show."""
    for name, profile_keys in (keys.profiles or {}).items():
        secret_names_known = {*keys.secrets, *profile_keys.secrets}
        state = state_texts(profile_keys.state) if profile_keys.state is not None else []
        for key, text in (*state, ("warehouse", profile_keys.warehouse), ("logs", profile_keys.logs)):
            _refuse_secrets_in(at / "profiles" / name / key, text, secret_names_known)
        for key, value in profile_keys.variables.items():
            _refuse_secrets_in(at / "profiles" / name / "variables" / key, value, secret_names_known)
        for bucket, options in profile_keys.storage.items():
            for key, text in options.model_dump(exclude_none=True).items():
                _refuse_secrets_in(at / "profiles" / name / "storage" / bucket / key, text, secret_names_known)


def _refuse_secrets_in(at: DocumentPlace, text: object, secrets: set[str]) -> None:
    """Adds a problem for each secret among ``secrets`` that the text names; does nothing for other values."""
    for name in variables_in(text) if isinstance(text, str) else ():
        if name in secrets:
            hint = "secrets are allowed in `notify: {to: NAME}` and `spark: {key: ${NAME}}`"
            at.add_problem(f"the secret {name!r} is not allowed here", hint=hint)


def secrets_of(at: DocumentPlace, keys: ProjectFile, profile: str) -> Mapping[str, SecretRef]:
    """The secrets by name, each with the place of its key; ``keys`` are merged with the profile's already."""
    secrets: dict[str, SecretRef] = {}
    for name, each in keys.secrets.items():
        profile_place = at / "profiles" / profile / "secrets" / name
        place = profile_place if profile_place.exists else at / "secrets" / name
        secrets[name] = SecretRef(each.scope, each.key, place.key_location)
    return secrets


def read_project_file(
    file: SourceFile, *, root: str, environment: Mapping[str, str], installed: InstalledKinds | None = None
) -> ProjectDraft:
    """The project file as a draft; mistakes in it become problems of its document.

    Args:
        file: The text of project.yml.
        root: Absolute folder of the project file.
        environment: Variables for ``${…}``.
        installed: What packages register for the project's files to name.

    Raises:
        SpecError: It is no YAML map, or its documents are not one.
        InputError: It has no profile of the name that is asked for.
    """
    document = _only_document(file)
    profile = chosen_profile(document, environment)
    lookup = VariableLookup(environment, variables_of(document, profile, environment))
    yaml_values.read_values(document, environment=lookup, profile=profile, secrets=secret_names(document, profile))
    at = DocumentPlace(document)
    _refuse_left_over_templates(at)
    keys = check_shape(ProjectFile, document, stand_in={"project": "unnamed"})
    check_states(at, keys)
    check_stores(at, keys)
    refuse_misplaced_secrets(at, keys)
    refuse_shared(at, keys, root=root, profile=profile, environment=environment)
    project_state, keys = keys.state, with_profile(at, keys, profile)
    for key, text in (*state_texts(keys.state), ("warehouse", keys.warehouse)):
        if secret := secret_in_text(text):
            message = f"'{key}' contains {secret}; events and messages are clear text"
            profile_key_place(at, key, profile).add_problem(message, secret=True)
    durations = {
        key: fixed_seconds(at / "defaults" / key, getattr(keys.defaults, key), positive=key != "retry_delay")
        for key in DURATIONS
    }
    timezone = check_zone(at / "timezone", keys.timezone)
    retention_seconds = retention(profile_key_place(at, "state", profile), keys.state)
    if keys.state is not project_state and not says_retention(keys.state):
        retention_seconds = retention(at / "state", project_state)
    return ProjectDraft(
        root,
        at,
        keys,
        timezone,
        durations,
        environment=lookup,
        profile=profile,
        retention=retention_seconds,
        installed=installed or InstalledKinds(),
    )


def _only_document(file: SourceFile) -> YamlDocument:
    """The project file's one map of keys.

    Raises:
        SpecError: The file is no YAML, is empty, or holds several documents or something else than a map.
    """
    composed = compose_documents(file.text)
    if fault := composed.fault:
        raise SpecError([file.problem(fault.line, fault.column, fault.message, hint=fault.hint, width=fault.width)])
    if not composed.roots:
        raise SpecError([file.problem(1, 1, "the project file is empty; expected at least 'project: <name>'")])
    root = composed.roots[-1]
    if len(composed.roots) > 1 or not isinstance(root, MappingNode):
        message = "the project file is not a map; expected keys such as 'project: <name>'"
        raise SpecError([file.problem(root.start_mark.line + 1, root.start_mark.column + 1, message)])
    return YamlDocument(file, root)


def _refuse_left_over_templates(at: DocumentPlace) -> None:
    """Refuses ``{{`` in texts, such as of a job parameter; messages of `notify` alone are templates of ours."""
    for path, text in _iterate_texts(at.document.data, ()):
        position = text.find("{{")
        if position >= 0 and not (path[0] == "notify" and path[-1] in ("title", "template")):
            place = DocumentPlace(at.document, path)
            message = "this text still contains '{{': a job parameter or template was not filled in"
            place.add_text_problem(position, message, width=2)


def _iterate_texts(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Yields every text in a value of YAML with its path of keys and indices."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _iterate_texts(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _iterate_texts(inner, (*path, index))
    elif isinstance(value, str):
        yield path, value
