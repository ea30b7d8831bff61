"""Azure's blob store on loopback, where its emulator Azurite is installed."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http.client
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from email.utils import formatdate

ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own, which everybody knows."""
CONTAINER = "lake"


class NotInstalledError(Exception):
    """There is no such program here."""


@contextlib.contextmanager
def azurite() -> Iterator[str]:
    """The address of an Azure blob store with one container; the environment says what reaches it."""
    port = _free()
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck"]
    address = f"http://127.0.0.1:{port}"
    with _running([_program("azurite-blob", "npm install -g azurite"), "--silent", *options], port):
        make_container(port, CONTAINER)
        with environment(
            {
                "AZURE_STORAGE_USE_EMULATOR": "true",
                "AZURITE_BLOB_STORAGE_URL": address,
                "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
                "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY,
            }
        ):
            yield address


def make_container(port: int, name: str) -> None:
    """Makes a container, by a request that is signed with the account's key."""
    said = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    resource = f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    signed = "\n".join(["PUT", *[""] * 11, *(f"{key}:{value}" for key, value in said.items()), resource])
    digest = hmac.digest(base64.b64decode(ACCOUNT_KEY), signed.encode(), hashlib.sha256)
    said["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    asked = http.client.HTTPConnection("127.0.0.1", port)
    asked.request("PUT", f"/{ACCOUNT}/{name}?restype=container", headers=said)
    answer = asked.getresponse()
    assert answer.status == http.HTTPStatus.CREATED, answer.read()


@contextlib.contextmanager
def environment(said: Mapping[str, str]) -> Iterator[None]:
    """The environment with these variables, for a while."""
    known = {name: os.environ.get(name) for name in said}
    os.environ.update(said)
    try:
        yield
    finally:
        for name, value in known.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _program(name: str, install: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NotInstalledError(f"{name} is not on the path: {install}")
    return found


def _free() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def _running(command: Sequence[str], port: int) -> Iterator[None]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                assert server.poll() is None, f"{command[0]} ended"
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.1)
            yield
        finally:
            server.terminate()
