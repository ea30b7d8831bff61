"""Paths as the files write them: from the project's folder, absolute, or object-store URIs."""

from __future__ import annotations

import posixpath


def normalize_path(given: str) -> str:
    """The path without ``./``, doubled and trailing slashes; an object-store URI keeps all but a trailing slash.

    >>> normalize_path("./landing//flights/"), normalize_path("s3://Lake/x/")
    ('landing/flights', 's3://Lake/x')
    """
    return given.rstrip("/") if "://" in given else posixpath.normpath(given)


def resolve_path(given: str, *, root: str) -> str:
    """Where the path leads, from the project's absolute folder ``root``.

    >>> resolve_path("../landing", root="/work/conf"), resolve_path("s3://lake/x", root="/work/conf")
    ('/work/landing', 's3://lake/x')
    """
    return normalize_path(given) if "://" in given else normalize_path(posixpath.join(root, given))


def sibling_path(file: str, name: str) -> str:
    """The path of ``name`` in the folder of ``file``.

    >>> sibling_path("assets/sales/orders.yml", "orders.sql")
    'assets/sales/orders.sql'
    """
    return normalize_path(posixpath.join(posixpath.dirname(file), name))
