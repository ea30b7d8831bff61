"""`storage` of a project: how its buckets are reached, without any credential."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from sparkassets.core.credentials import secret_in_text
from sparkassets.core.spec.document import At
from sparkassets.core.spec.files import ProjectFile, StoreMap
from sparkassets.core.spec.model import StoreOptions
from sparkassets.core.spec.times import seconds

_BUCKET: Final = re.compile(r"[sS]3[aAnN]?://([A-Za-z0-9][A-Za-z0-9._-]*)?/?")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME: Final = 64
_CREDENTIALS: Final = ("access_key", "secret_key", "session_token")


def check_stores(at: At, keys: ProjectFile) -> None:
    """Refuses what names no bucket, or one twice, and what holds a credential: the project's and its profiles'."""
    _check(at / "storage", keys.storage)
    for name, own in (keys.profiles or {}).items():
        _check(at / "profiles" / name / "storage", own.storage)


def stores_of(at: At, keys: ProjectFile, profile: str) -> tuple[StoreOptions, ...]:
    """One for each bucket; ``keys`` are those under the profile, whose own go before the project's."""
    found: dict[str, StoreOptions] = {}
    for written, told in keys.storage.items():
        own = at / "profiles" / profile / "storage" / written
        place = own if own.exists else at / "storage" / written
        bucket = bucket_of(written)
        if bucket is None:
            continue
        found.pop(bucket, None)
        found[bucket] = StoreOptions(
            bucket,
            told.endpoint.rstrip("/") if told.endpoint is not None else None,
            told.region,
            told.access_key,
            told.secret_key,
            told.session_token,
            told.anonymous,
            seconds(place / "timeout", told.timeout) if told.timeout is not None else None,
            told.retries,
            place.key_location,
        )
    return tuple(found.values())


def bucket_of(written: str) -> str | None:
    """The bucket that a key of `storage` names, empty for all of them; None for what names none.

    >>> bucket_of("s3a://lake"), bucket_of("s3://"), bucket_of("s3://lake/tables"), bucket_of("gs://lake")
    ('lake', '', None, None)
    """
    found = _BUCKET.fullmatch(written)
    return None if found is None else found[1] or ""


def _check(at: At, storage: Mapping[str, StoreMap]) -> None:
    first: dict[str, str] = {}
    for written, told in storage.items():
        place, bucket = at / written, bucket_of(written)
        if bucket is None:
            hint = "options are known for S3; what reaches another store is told by the environment"
            message = f"{written!r} names no bucket; expected s3://<bucket>, or s3:// for all of them"
            place.key_problem(message, hint=hint)
        elif bucket in first:
            place.key_problem(f"{written!r} is the bucket of {first[bucket]!r}; expected each once")
        first.setdefault(bucket or "", written)
        if told.timeout is not None:
            seconds(place / "timeout", told.timeout)
        _check_credentials(place, told)
        for key, what in _wrong(told):
            (place / key).problem(what, secret=True)


def _check_credentials(place: At, told: StoreMap) -> None:
    named = {key: getattr(told, key) for key in _CREDENTIALS if getattr(told, key) is not None}
    for key, name in named.items():
        if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME or secret_in_text(name):
            message = f"{key!r} is the name of a secret or of a variable of the environment, not what that holds"
            (place / key).problem(message, hint=f"write '{key}: LAKE_{key.upper()}', and set that", secret=True)
    if ("access_key" in named) != ("secret_key" in named):
        given, other = ("access_key", "secret_key") if "access_key" in named else ("secret_key", "access_key")
        (place / given).key_problem(f"{given!r} is of no use without {other!r}")
    elif "session_token" in named and "access_key" not in named:
        (place / "session_token").key_problem("'session_token' is of no use without 'access_key' and 'secret_key'")
    if named and told.anonymous:
        (place / "anonymous").key_problem(f"an anonymous request has no {next(iter(named))!r}; expected one of them")


def _wrong(told: StoreMap) -> Iterator[tuple[str, str]]:
    """Keys whose text is none that they may have."""
    if told.endpoint is None:
        return
    parts = urlsplit(told.endpoint)
    if secret_in_text(told.endpoint) or "@" in parts.netloc:
        yield "endpoint", "'endpoint' holds a credential; it is asked for by 'access_key' and 'secret_key'"
    elif parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        yield "endpoint", "'endpoint' is no URL of a server; expected one such as https://minio.example:9000"
