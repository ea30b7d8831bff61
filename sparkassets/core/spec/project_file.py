"""The project file: its keys, its zone, and that nothing in it was meant to be filled in by another tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from yaml.nodes import MappingNode

from sparkassets.core.credentials import secret_in_text
from sparkassets.core.spec import yaml_values
from sparkassets.core.spec.drafts import DURATIONS, ProjectDraft
from sparkassets.core.spec.file_models import ProjectFile
from sparkassets.core.spec.profiles import chosen_profile, profile_key_place, refuse_shared, variables_of, with_profile
from sparkassets.core.spec.secrets import refuse_misplaced_secrets, secret_names
from sparkassets.core.spec.shape_checks import check_shape
from sparkassets.core.spec.state_locations import check_states, retention, says_retention, state_texts
from sparkassets.core.spec.stores import check_stores
from sparkassets.core.spec.time_bounds import check_zone, fixed_seconds
from sparkassets.core.spec.yaml_document import DocumentPlace, KeyPath, SourceFile, YamlDocument
from sparkassets.core.spec.yaml_text import compose_documents
from sparkassets.core.variables import VariableLookup
from sparkassets.errors import SpecError


def read_project_file(file: SourceFile, *, root: str, environment: Mapping[str, str]) -> ProjectDraft:
    """The project file as a draft that carries its own problems.

    Args:
        file: The text of project.yml.
        root: Absolute folder of the project file.
        environment: Variables for ``${…}``.

    Raises:
        SpecError: It is no YAML map, or its documents are not one.
        InputError: It has no profile of the name that is asked for.
    """
    document = _only_document(file)
    profile = chosen_profile(document, environment)
    known = VariableLookup(environment, variables_of(document, profile, environment))
    yaml_values.read_values(document, environment=known, profile=profile, secrets=secret_names(document, profile))
    at = DocumentPlace(document)
    _refuse_left_over_templates(at)
    keys = check_shape(ProjectFile, document, stand_in={"project": "unnamed"})
    check_states(at, keys)
    check_stores(at, keys)
    refuse_misplaced_secrets(at, keys)
    refuse_shared(at, keys, root=root, profile=profile, environment=environment)
    usual, keys = keys.state, with_profile(at, keys, profile)
    for key, text in (*state_texts(keys.state), ("warehouse", keys.warehouse)):
        if secret := secret_in_text(text):
            told = f"'{key}' holds {secret}; events and messages are clear text"
            profile_key_place(at, key, profile).add_problem(told, secret=True)
    durations = {
        key: fixed_seconds(at / "defaults" / key, getattr(keys.defaults, key), positive=key != "retry_delay")
        for key in DURATIONS
    }
    zone = check_zone(at / "timezone", keys.timezone)
    kept = retention(profile_key_place(at, "state", profile), keys.state)
    if keys.state is not usual and not says_retention(keys.state):
        kept = retention(at / "state", usual)
    return ProjectDraft(root, at, keys, zone, durations, environment=known, profile=profile, retention=kept)


def _only_document(file: SourceFile) -> YamlDocument:
    composed = compose_documents(file.text)
    if broken := composed.fault:
        raise SpecError(
            [file.problem(broken.line, broken.column, broken.message, hint=broken.hint, width=broken.width)]
        )
    if not composed.roots:
        raise SpecError([file.problem(1, 1, "the project file is empty; expected at least 'project: <name>'")])
    root = composed.roots[-1]
    if len(composed.roots) > 1 or not isinstance(root, MappingNode):
        message = "the project file is one map of keys, such as 'project: <name>'"
        raise SpecError([file.problem(root.start_mark.line + 1, root.start_mark.column + 1, message)])
    return YamlDocument(file, root)


def _refuse_left_over_templates(at: DocumentPlace) -> None:
    for path, text in _texts(at.document.data, ()):
        position = text.find("{{")
        if position >= 0 and not (path[0] == "notify" and path[-1] in ("title", "template")):
            place = DocumentPlace(at.document, path)
            message = "'{{' is left in this text: a job parameter or template that nothing has filled in"
            place.add_text_problem(position, message, width=2)


def _texts(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*path, index))
    elif isinstance(value, str):
        yield path, value
