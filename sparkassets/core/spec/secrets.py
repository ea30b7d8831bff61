"""Secrets that a project names: where they are, and that they stand where they are not stored."""

from __future__ import annotations

from collections.abc import Mapping

from yaml.nodes import MappingNode, ScalarNode

from sparkassets.core.spec.file_models import ProjectFile
from sparkassets.core.spec.model import SecretRef
from sparkassets.core.spec.profiles import node_at
from sparkassets.core.spec.scalars import variables_in
from sparkassets.core.spec.state_locations import state_texts
from sparkassets.core.spec.yaml_document import DocumentPlace, YamlDocument


def secret_names(document: YamlDocument, profile: str) -> frozenset[str]:
    """The names that the project file and the profile that holds have for secrets, before they are read."""
    nodes = [node_at(document.root, path) for path in (("secrets",), ("profiles", profile, "secrets"))]
    pairs = [pair for node in nodes if isinstance(node, MappingNode) for pair in node.value]
    return frozenset(name.value for name, _ in pairs if isinstance(name, ScalarNode))


def refuse_misplaced_secrets(at: DocumentPlace, keys: ProjectFile) -> None:
    """Refuses a secret in a profile elsewhere than among the settings of Spark."""
    for name, own in (keys.profiles or {}).items():
        known = {*keys.secrets, *own.secrets}
        state = state_texts(own.state) if own.state is not None else []
        for key, text in (*state, ("warehouse", own.warehouse), ("logs", own.logs)):
            _refuse(at / "profiles" / name / key, text, known)
        for key, value in own.variables.items():
            _refuse(at / "profiles" / name / "variables" / key, value, known)
        for bucket, told in own.storage.items():
            for key, text in told.model_dump(exclude_none=True).items():
                _refuse(at / "profiles" / name / "storage" / bucket / key, text, known)


def _refuse(at: DocumentPlace, text: object, known: set[str]) -> None:
    for name in variables_in(text) if isinstance(text, str) else ():
        if name in known:
            hint = "`notify: {to: NAME}` and `spark: {key: ${NAME}}` take one"
            at.add_problem(f"{name!r} is a secret, which cannot stand here", hint=hint)


def secrets_of(at: DocumentPlace, keys: ProjectFile, profile: str) -> Mapping[str, SecretRef]:
    """The secrets by name; ``keys`` are those under the profile."""
    found: dict[str, SecretRef] = {}
    for name, each in keys.secrets.items():
        own = at / "profiles" / profile / "secrets" / name
        place = own if own.exists else at / "secrets" / name
        found[name] = SecretRef(each.scope, each.key, place.key_location)
    return found
