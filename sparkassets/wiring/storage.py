"""How the buckets of a project are reached: what its `storage` says, and credentials when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial

from sparkassets.core.spec.model import ProjectSpec, StoreOptions
from sparkassets.errors import InputError
from sparkassets.files.bucket_access import BucketAccess, StoreCredentials, hadoop_settings
from sparkassets.wiring.secrets import Secrets


def reaches(spec: ProjectSpec, secrets: Secrets) -> tuple[BucketAccess, ...]:
    """One for each bucket that the project says something of."""
    return tuple(BucketAccess(each, partial(_credentials, each, secrets)) for each in spec.storage)


def _credentials(options: StoreOptions, secrets: Secrets) -> StoreCredentials | None:
    """Those that the options name; None where they name none.

    Raises:
        InputError: They are not there.
    """
    if options.access_key is None or options.secret_key is None:
        return None

    def value(key: str, name: str) -> str:
        try:
            return secrets.asked(name)
        except KeyError:
            message = f"{options.location}: the environment has no variable of the name that {key!r} has here"
            raise InputError(message, hint="set it, or say under `secrets` where it is") from None

    token = options.session_token
    return StoreCredentials(
        value("access_key", options.access_key),
        value("secret_key", options.secret_key),
        None if token is None else value("session_token", token),
    )


class Reaching(Mapping[str, str]):
    """Settings of Spark, and beside them what its Hadoop needs to reach the buckets; asked for when it is started."""

    def __init__(self, settings: Mapping[str, str], told: Sequence[BucketAccess]) -> None:
        self._settings = settings
        self._told = told

    @cached_property
    def _all(self) -> Mapping[str, str]:
        return {**hadoop_settings(self._told), **self._settings}

    def __getitem__(self, key: str) -> str:
        return self._all[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)
