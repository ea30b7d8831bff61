"""`blake2b` from where `hashlib` has it: that loads OpenSSL as well, which costs a start more than most packages."""

from _blake2 import blake2b

__all__ = ["blake2b"]
