"""Object stores by URI, as Arrow opens them; what the project does not say of them the environment does."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from sparkassets.errors import SourceError
from sparkassets.files.reach import for_arrow, reached

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_ARROW = {
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfs",
    "abfss": "abfss",
    "hdfs": "hdfs",
}
"""Hadoop's names of a store and Arrow's: both mean the same files."""


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
            hint="known are paths on a disk, file://, s3:// and s3a://, gs://, abfs:// and abfss://, hdfs://",
        )
    told = reached(uri)
    try:
        if told is not None:
            return fs.S3FileSystem(**for_arrow(told)), rest.rstrip("/")
        store, path = fs.FileSystem.from_uri(f"{known}://{quote(rest, safe='/@:~')}")
    except (ArrowInvalid, ArrowNotImplementedError, OSError) as error:
        raise SourceError(f"cannot look at '{uri}': {_line(error)}") from error
    return store, path


def _line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
