"""Object stores by URI, as Arrow opens them; what the project does not say of them the environment does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sparkassets.errors import SourceError
from sparkassets.files.bucket_access import arrow_options, find_bucket_access

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_ARROW = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    **dict.fromkeys(("abfs", "abfss", "az", "azure"), "abfss"),
    "hdfs": "hdfs",
}
"""Hadoop's and deltalake's names of a store and Arrow's: all mean the same files."""
_AZURITE = "http://127.0.0.1:10000"
"""Where Azure's emulator is, for deltalake as well, if nothing else is said."""


def local_path(place: str) -> str | None:
    """The path on this machine's disk that ``place`` means, every character for itself; None for an object store.

    >>> local_path("file:///data/100%"), local_path("/data"), local_path("s3a://bucket/data")
    ('/data/100%', '/data', None)
    """
    scheme, separator, rest = place.partition("://")
    if not separator:
        return place
    return rest if scheme.lower() == "file" else None


def open_store(uri: str) -> tuple[FileSystem, str]:
    """The store of a URI, and the path in it.

    Raises:
        SourceError: There is no such kind of store here.
    """
    from pyarrow import ArrowInvalid, ArrowNotImplementedError, fs

    scheme, _, rest = uri.partition("://")
    known = _ARROW.get(scheme.lower())
    if known is None:
        raise SourceError(
            f"cannot look at '{uri}': no store of files is known for '{scheme}://'",
            hint="known are paths on a disk, file://, s3:// and s3a://, gs://, abfss:// and az://, hdfs://",
        )
    told = find_bucket_access(uri)
    try:
        if told is not None:
            return fs.S3FileSystem(**arrow_options(told)), rest.rstrip("/")
        if known == "abfss":
            return _azure(uri, rest)
        store, path = fs.FileSystem.from_uri(f"{known}://{quote(rest, safe='/@:~')}")
    except (ArrowInvalid, ArrowNotImplementedError, OSError) as error:
        raise SourceError(f"cannot look at '{uri}': {_line(error)}") from error
    return store, path


def _azure(uri: str, rest: str) -> tuple[FileSystem, str]:
    """A container by the credentials that deltalake takes from the environment, which Arrow does not look for.

    Without a key or a token there Arrow finds others itself: of an application, of the machine.

    Raises:
        SourceError: Neither the URI nor the environment names the account.
    """
    from pyarrow import fs

    authority, _, path = rest.partition("/")
    container, _, host = authority.partition("@")
    account, _, domain = host.partition(".")
    account = account or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    if not account:
        raise SourceError(
            f"cannot look at '{uri}': nothing says of which account the container is",
            hint=f"write abfss://{container}@<account>.dfs.core.windows.net/…, or set AZURE_STORAGE_ACCOUNT_NAME",
        )
    said: dict[str, Any] = {"account_key": os.environ.get("AZURE_STORAGE_ACCOUNT_KEY")}
    if said["account_key"] is None:
        said["sas_token"] = os.environ.get("AZURE_STORAGE_SAS_TOKEN") or os.environ.get("AZURE_STORAGE_SAS_KEY")
    return fs.AzureFileSystem(account, **said, **_endpoints(domain)), f"{container}/{path}".rstrip("/")


def _endpoints(domain: str) -> dict[str, str]:
    """Where an account's two services are: the emulator, or in a cloud such as that of ``dfs.core.windows.net``."""
    if os.environ.get("AZURE_STORAGE_USE_EMULATOR", "").lower() in ("true", "1"):
        scheme, _, at = os.environ.get("AZURITE_BLOB_STORAGE_URL", _AZURITE).partition("://")
        services = {"blob": at.rstrip("/"), "dfs": at.rstrip("/")}
        return {
            **{f"{kind}_storage_scheme": scheme for kind in services},
            **{f"{kind}_storage_authority": place for kind, place in services.items()},
        }
    _, _, cloud = domain.partition(".")
    return {f"{kind}_storage_authority": f".{kind}.{cloud}" for kind in ("blob", "dfs")} if cloud else {}


def _line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
