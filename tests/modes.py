"""Root without its right to read and write whatever the modes of files say; as a program, a command run like that."""

from __future__ import annotations

import ctypes
import os
import sys

_VERSION = 0x20080522
_OVERRIDES = 0b110
"""``CAP_DAC_OVERRIDE`` and ``CAP_DAC_READ_SEARCH``."""


def obey_modes() -> None:
    """Makes the modes of files count for root, too: for this thread and those that it starts.

    Another user could not import what root has installed.
    """
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    failed = libc.capget(header, sets)
    sets[0] &= ~_OVERRIDES  # the first of them are in effect
    if failed or libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "cannot give up a capability")


if __name__ == "__main__":
    obey_modes()
    from sparkassets.cli import main

    sys.exit(main(sys.argv[1:]))
