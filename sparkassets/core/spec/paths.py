"""Paths as the files write them: from the project's folder, absolute, or object-store URIs."""

from __future__ import annotations

import posixpath


def tidy(given: str) -> str:
    """The path without ``./``, doubled and trailing slashes; an object-store URI keeps all but a trailing slash.

    >>> tidy("./landing//flights/"), tidy("s3://Lake/x/")
    ('landing/flights', 's3://Lake/x')
    """
    return given.rstrip("/") if "://" in given else posixpath.normpath(given)


def absolute(given: str, *, root: str) -> str:
    """Where the path leads, from the project's absolute folder ``root``.

    >>> absolute("../landing", root="/work/conf"), absolute("s3://lake/x", root="/work/conf")
    ('/work/landing', 's3://lake/x')
    """
    return tidy(given) if "://" in given else tidy(posixpath.join(root, given))


def beside(file: str, name: str) -> str:
    """The path of ``name`` in the folder of ``file``.

    >>> beside("assets/sales/orders.yml", "orders.sql")
    'assets/sales/orders.sql'
    """
    return tidy(posixpath.join(posixpath.dirname(file), name))
