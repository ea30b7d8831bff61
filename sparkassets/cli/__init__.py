"""The command line: parse, call, print, return; one file a command, loaded when it is invoked."""

from __future__ import annotations

from sparkassets.cli.app import main

__all__ = ["main"]
