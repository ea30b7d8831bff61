"""Values of secrets and credentials of buckets: read when they are needed, and kept in this process only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sparkassets.core.spec.project_spec import ProjectSpec, SecretRef, StoreOptions
from sparkassets.errors import InputError
from sparkassets.files.object_stores import BucketAccess, StoreCredentials, hadoop_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VARIABLE: Final = r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}"


class CredentialError(InputError):
    """A secret or a credential is missing, or cannot be read; never holds its value."""

    topic = "missing-credentials"


class SecretValues(Mapping[str, str]):
    """Variables by name; those that the project declares as secrets are looked up in several places.

    A secret is a variable of the environment, the content of the file that NAME_FILE names, or a key of a Databricks
    scope.

    Args:
        refs: The declared secrets by name, with scope and key.
        environment: The variables of this process.
        session: Returns the session of a Databricks task; None elsewhere.

    Attributes:
        read_values: Secret values that were read, by name; logs redact them.
    """

    def __init__(
        self,
        refs: Mapping[str, SecretRef],
        environment: Mapping[str, str],
        session: Callable[[], SparkSession | None] | None = None,
    ) -> None:
        self.read_values: dict[str, str] = {}
        self._refs = refs
        self._environment = environment
        self._session = session or (lambda: databricks_session(environment))

    def __getitem__(self, name: str) -> str:
        """The value of a variable or secret.

        Raises:
            KeyError: It is neither a variable nor a secret of the project.
            InputError: It is a secret and is not there.
        """
        if name not in self._refs:
            return self._environment[name]
        if name not in self.read_values:
            self.read_values[name] = self._read_secret(name, self._refs[name])
        return self.read_values[name]

    def read_credential(self, name: str) -> str:
        """The value of a variable that is a credential, declared as a secret or not; logs redact it from now on.

        Raises:
            KeyError: There is none.
            InputError: It is declared as a secret and is found nowhere.
        """
        self.read_values[name] = self[name] if name in self._refs else self._read_environment(name)
        return self.read_values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._refs, *self._environment]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _read_environment(self, name: str) -> str:
        """The variable ``name``, or the content of the file that ``<name>_FILE`` names.

        Raises:
            KeyError: Neither is set.
            InputError: The file cannot be read.
        """
        if value := self._environment.get(name, "").strip():
            return value
        file = self._environment.get(f"{name}_FILE", "").strip()
        if not file:
            raise KeyError(name)
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise CredentialError(f"the file of {name}_FILE cannot be read: {type(error).__name__}") from None

    def _read_secret(self, name: str, ref: SecretRef) -> str:
        """A secret's value, from the environment or else from its Databricks scope.

        Raises:
            InputError: It is in neither, or may not be read. The message never holds the value.
        """
        try:
            return self._read_environment(name)
        except KeyError:
            pass
        except InputError as error:
            raise CredentialError(f"{ref.location}: {error.args[0]}") from None
        session = self._session()
        where = f"key {ref.key!r} of scope {ref.scope!r}"
        if session is None:
            message = f"{ref.location}: the secret {name!r} is missing: the environment variable {name} is not set"
            raise CredentialError(message, hint=f"set it, or {name}_FILE; on Databricks it is {where}")
        try:
            ((value,),) = session.sql(f"SELECT secret('{ref.scope}', '{ref.key}')").collect()
        except Exception as error:  # noqa: BLE001  whatever a session raises; it may hold the value
            message = f"{ref.location}: the secret {name!r} cannot be read: {where} ({type(error).__name__})"
            hint = "the identity that runs the job needs READ on the scope: databricks secrets put-acl"
            raise CredentialError(message, hint=hint) from None
        return str(value)


class SettingsWithSecrets(Mapping[str, str]):
    """Spark's settings with ``${NAME}`` of a secret replaced by its value, which is read only when a session starts."""

    def __init__(self, settings: Mapping[str, str], secrets: SecretValues, names: Mapping[str, SecretRef]) -> None:
        self._settings = settings
        self._secrets = secrets
        self._names = names

    def __getitem__(self, key: str) -> str:
        return re.sub(_VARIABLE, self._replace_name, self._settings[key])

    def _replace_name(self, match: re.Match[str]) -> str:
        return self._secrets[match[1]] if match[1] in self._names else match[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)


def databricks_session(environment: Mapping[str, str]) -> SparkSession | None:
    """The session of a Databricks task; None elsewhere."""
    if not environment.get("DATABRICKS_RUNTIME_VERSION"):
        return None
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()


def bucket_access(spec: ProjectSpec, secrets: SecretValues) -> tuple[BucketAccess, ...]:
    """The access to each bucket that the project has options for."""
    return tuple(BucketAccess(each, partial(_credentials, each, secrets)) for each in spec.storage)


def _credentials(options: StoreOptions, secrets: SecretValues) -> StoreCredentials | None:
    """The credentials that the options name by variables; None if they name none.

    Raises:
        InputError: A named variable is not set.
    """
    if options.access_key is None or options.secret_key is None:
        return None

    def value(key: str, name: str) -> str:
        try:
            return secrets.read_credential(name)
        except KeyError:
            message = f"{options.location}: the environment variable named by {key!r} is not set"
            raise CredentialError(message, hint="set it, or declare it under `secrets`") from None

    token = options.session_token
    return StoreCredentials(
        value("access_key", options.access_key),
        value("secret_key", options.secret_key),
        None if token is None else value("session_token", token),
    )


class SettingsWithBuckets(Mapping[str, str]):
    """Spark's settings with those by which Hadoop opens the buckets; reads credentials at a session's start."""

    def __init__(self, settings: Mapping[str, str], buckets: Sequence[BucketAccess]) -> None:
        self._settings = settings
        self._buckets = buckets

    @cached_property
    def _all(self) -> Mapping[str, str]:
        return {**hadoop_settings(self._buckets), **self._settings}

    def __getitem__(self, key: str) -> str:
        return self._all[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)
