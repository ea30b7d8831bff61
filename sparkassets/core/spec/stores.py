"""`storage` of a project: how its buckets are reached, without any credential."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from sparkassets.core.credentials import secret_in_text
from sparkassets.core.spec.asset_models import AssetFile
from sparkassets.core.spec.project_models import ProjectFile, StoreMap
from sparkassets.core.spec.project_spec import StoreOptions
from sparkassets.core.spec.time_bounds import fixed_seconds
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import did_you_mean
from sparkassets.frozen import frozen

_BUCKET_PATTERN: Final = re.compile(r"[sS]3[aAnN]?://([A-Za-z0-9][A-Za-z0-9._-]*)?/?")
_NAME_PATTERN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH_BY_STORE_NAME: Final = re.compile(r"([sS]3[aAnN]?://)([A-Za-z_][A-Za-z0-9_]*)@([^/]+)(.*)")
_FILE_STORES: Final = frozenset(
    {
        *("file", "s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "azure", "az", "adl", "wasb", "wasbs"),
        *("hdfs", "viewfs", "webhdfs", "dbfs", "oss", "cosn", "obs"),
    }
)
"""Schemes that deltalake or Hadoop open as stores of files."""
_LONGEST_NAME: Final = 64
_CREDENTIALS: Final = ("access_key", "secret_key", "session_token")


def check_stores(at: DocumentPlace, keys: ProjectFile) -> None:
    """Refuses wrong keys and values of `storage`, and credentials in it; in the project and its profiles."""
    _check_storage(at / "storage", keys.storage)
    for name, profile_keys in (keys.profiles or {}).items():
        _check_storage(at / "profiles" / name / "storage", profile_keys.storage)


@frozen
class NamedStore:
    """A path's reference to a key of `storage`, such as ``archive`` in ``s3://archive@lake/trips``.

    Attributes:
        name: The key of `storage`.
        bucket: The bucket that the path reaches by its options.
        place: Where the path is written.
    """

    name: str
    bucket: str
    place: DocumentPlace


def without_store_name(
    at: DocumentPlace, path: str | None, storage: Collection[str]
) -> tuple[str | None, NamedStore | None]:
    """The path without the store's name before its bucket, and the reference to that store.

    ``s3://archive@lake/trips`` becomes ``s3://lake/trips`` and a reference to the key ``archive`` of `storage`. Without
    such a name the path is returned as it is, and None for the reference. A name that is no key of ``storage`` becomes
    a problem, and None as well. It is not shown, because it may be a credential by mistake.

    Args:
        at: The asset or outlet with the path.
        path: The path as written; None where there is none.
        storage: The keys of `storage` in the project file.
    """
    found = _PATH_BY_STORE_NAME.fullmatch(path or "")
    if found is None:
        return path, None
    scheme, name, bucket, rest = found.groups()
    known = [each for each in storage if _NAME_PATTERN.fullmatch(each)]
    if name not in known:
        hint = did_you_mean(name, known) or "write storage: {<name>: {region: …}} in the project file"
        (at / "path").add_problem("'storage' in the project file has no store of this name", hint=hint, secret=True)
        return f"{scheme}{bucket}{rest}", None
    return f"{scheme}{bucket}{rest}", NamedStore(name, bucket, at / "path")


def check_scheme(at: DocumentPlace, keys: AssetFile) -> None:
    """Refuses a path with the scheme of something else than files, such as a database.

    Spark may have other file systems, so ``commit: spark`` allows any scheme.
    """
    scheme, separator, _ = (keys.path or "").partition("://")
    if not separator or scheme.lower() in _FILE_STORES or keys.commit == "spark":
        return
    if keys.source is not None:
        hint = "write source: true with this as its 'uri'; `sparkassets events add` records its updates"
    else:
        hint = "let the asset's own code write it: write: self, with this as its 'uri'"
    verb = "read" if keys.source is not None else "written"
    (at / "path").add_problem(f"nothing can be {verb} at '{scheme}://': it is not a file store", hint=hint)


def check_named(keys: ProjectFile, references: Iterable[NamedStore]) -> None:
    """Refuses a bucket that paths reach by two keys of `storage`: its options would depend on the path."""
    name_by_bucket = {bucket: written for written in keys.storage if (bucket := bucket_of(written))}
    for each in references:
        if (other := name_by_bucket.setdefault(each.bucket, each.name)) != each.name:
            message = f"two entries of 'storage' match the bucket {each.bucket!r}: this one and {other!r}"
            each.place.add_problem(message)


def stores_of(
    at: DocumentPlace, keys: ProjectFile, profile: str, *, references: Sequence[NamedStore] = ()
) -> tuple[StoreOptions, ...]:
    """The options of each bucket, by the keys of `storage` and by the references in paths.

    Args:
        at: The project file.
        keys: Its keys, merged with the profile's.
        profile: The name of the profile.
        references: The references in paths.
    """
    bucket_keys = [(written, bucket) for written in keys.storage if (bucket := bucket_of(written)) is not None]
    pairs = [*bucket_keys, *dict.fromkeys((each.name, each.bucket) for each in references)]
    options_by_bucket: dict[str, StoreOptions] = {}
    for written, bucket in pairs:
        options = keys.storage[written]
        profile_place = at / "profiles" / profile / "storage" / written
        place = profile_place if profile_place.exists else at / "storage" / written
        options_by_bucket.pop(bucket, None)
        options_by_bucket[bucket] = StoreOptions(
            bucket,
            options.endpoint.rstrip("/") if options.endpoint is not None else None,
            options.region,
            options.access_key,
            options.secret_key,
            options.session_token,
            options.anonymous,
            fixed_seconds(place / "timeout", options.timeout) if options.timeout is not None else None,
            options.retries,
            place.key_location,
        )
    return tuple(options_by_bucket.values())


def bucket_of(written: str) -> str | None:
    """The bucket that a key of `storage` names; empty for all buckets, None for a key that is no bucket.

    >>> bucket_of("s3a://lake"), bucket_of("s3://"), bucket_of("s3://lake/tables"), bucket_of("gs://lake")
    ('lake', '', None, None)
    """
    match = _BUCKET_PATTERN.fullmatch(written)
    return None if match is None else match[1] or ""


def _check_storage(at: DocumentPlace, storage: Mapping[str, StoreMap]) -> None:
    """Refuses keys of `storage` that name no bucket, two keys for one bucket, and invalid options.

    A key that is neither a bucket nor a URL is a name for paths such as ``s3://name@bucket/…``, and may share a bucket.
    """
    key_by_bucket: dict[str, str] = {}
    for written, options in storage.items():
        place, bucket = at / written, bucket_of(written)
        if bucket is None and not _NAME_PATTERN.fullmatch(written):
            hint = "'storage' supports only S3; configure other stores by environment variables"
            message = f"{written!r} does not name a bucket; expected s3://<bucket>, or s3:// for every bucket"
            place.add_key_problem(message, hint=hint)
        elif bucket is None:
            pass  # a name that paths use: s3://name@bucket/…
        elif bucket in key_by_bucket:
            place.add_key_problem(f"{written!r} is the same bucket as {key_by_bucket[bucket]!r}")
        if bucket is not None:
            key_by_bucket.setdefault(bucket, written)
        if options.timeout is not None:
            fixed_seconds(place / "timeout", options.timeout)
        _check_credentials(place, options)
        for key, problem in _find_invalid_options(options):
            (place / key).add_problem(problem, secret=True)


def _check_credentials(place: DocumentPlace, options: StoreMap) -> None:
    """Refuses a credential in place of its name, half a pair of keys, and keys for anonymous requests."""
    credential_names = {key: getattr(options, key) for key in _CREDENTIALS if getattr(options, key) is not None}
    for key, name in credential_names.items():
        if not _NAME_PATTERN.fullmatch(name) or len(name) > _LONGEST_NAME or secret_in_text(name):
            message = f"{key!r} is not the name of a secret or environment variable; it may be the credential itself"
            (place / key).add_problem(message, hint=f"write '{key}: LAKE_{key.upper()}', and set that", secret=True)
    if ("access_key" in credential_names) != ("secret_key" in credential_names):
        present, missing = (
            ("access_key", "secret_key") if "access_key" in credential_names else ("secret_key", "access_key")
        )
        (place / present).add_key_problem(f"{present!r} needs {missing!r}")
    elif "session_token" in credential_names and "access_key" not in credential_names:
        (place / "session_token").add_key_problem("'session_token' needs 'access_key' and 'secret_key'")
    if credential_names and options.anonymous:
        (place / "anonymous").add_key_problem(f"'anonymous' and {next(iter(credential_names))!r} exclude each other")


def _find_invalid_options(options: StoreMap) -> Iterator[tuple[str, str]]:
    """Keys with a text that they cannot have, each with the problem."""
    if options.endpoint is None:
        return
    parts = urlsplit(options.endpoint)
    if secret_in_text(options.endpoint) or "@" in parts.netloc:
        yield "endpoint", "'endpoint' contains a credential; use 'access_key' and 'secret_key'"
    elif parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        yield "endpoint", "'endpoint' is not a URL; expected one such as https://minio.example:9000"
