"""The exact versions of what a job installs on Databricks, so that tomorrow's job is today's.

A version is the one that is installed where `deploy` runs. What the runtime brings stays: its packages are built for
each other. https://github.com/databricks/environments lists them for each runtime.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Final

from sparkassets.features.deploy.wheel import normalize_name, split_requirement

_ENVIRONMENT_OFFSET: Final = 13
"""Environment version 4 of serverless compute has the Spark client of runtime 17, and so on."""
_FIRST_WITH_ARROW: Final = 17
"""The first runtime with a pyarrow that is new enough for sparkassets."""
_ARROW_BEFORE: Final = "18.1.0"
"""The pyarrow that older runtimes get: newer ones refuse their pandas, 1.5."""
_BROUGHT: Final = frozenset(
    {
        *("numpy", "pandas", "scipy", "py4j", "grpcio", "grpcio-status", "googleapis-common-protos", "protobuf"),
        *("requests", "urllib3", "certifi", "charset-normalizer", "idna", "python-dateutil", "pytz", "six"),
    }
)
"""Packages that every runtime brings in versions that do."""
_BROUGHT_WITH_ARROW: Final = _BROUGHT | {
    *("pyarrow", "pydantic", "pydantic-core", "annotated-types", "typing-extensions", "typing-inspection"),
}


def runtime_of(cluster: tuple[str, str] | None, environment: int) -> int:
    """The major version of a cluster's runtime, or of the one whose client a serverless environment has.

    >>> runtime_of(("15.4.x-scala2.12", "i3.xlarge"), 4), runtime_of(None, 4), runtime_of(("custom:x", "m5"), 4)
    (15, 17, 17)
    """
    if cluster is None:
        return environment + _ENVIRONMENT_OFFSET
    named = re.match(r"\d+", cluster[0])
    return int(named[0]) if named else _FIRST_WITH_ARROW


def pin_requirements(requirements: Sequence[str], *, runtime: int) -> tuple[tuple[str, ...], list[str]]:
    """The requirements with exact versions, also of what they need in turn; and a sentence for each that has none.

    A requirement that names an exact version, a URL or a marker stays as it is.

    Args:
        requirements: As of `requirements_of`.
        runtime: As of `runtime_of`.
    """
    brought = _BROUGHT if runtime < _FIRST_WITH_ARROW else _BROUGHT_WITH_ARROW
    own, needed, notes = list[str](), dict[str, str](), list[str]()
    for text in requirements:
        name, extras, rest = split_requirement(text)
        installed = _find_distribution(name)
        if installed is not None:
            needed |= {normalize_name(each.name): each.version for each in _iterate_needed(installed, extras, set())}
        if name in brought or name == "sparkassets" or re.search("==|[@;]", rest):
            own.append(text)
        elif installed is None or not _is_release(installed):
            own.append(text)
            notes.append(f"the version of {name} is not pinned: no release of it is installed here")
        else:
            own.append(f"{text.removesuffix(rest).rstrip()}=={installed.version}")
    if runtime < _FIRST_WITH_ARROW and "pyarrow" in needed:
        needed["pyarrow"] = _ARROW_BEFORE
    left = brought | {split_requirement(text)[0] for text in own}
    return (*own, *(f"{name}=={version}" for name, version in sorted(needed.items()) if name not in left)), notes


def _find_distribution(package: str) -> Distribution | None:
    try:
        return distribution(package)
    except PackageNotFoundError:
        return None


def _iterate_needed(package: Distribution, extras: frozenset[str], seen: set[str]) -> Iterator[Distribution]:
    """Yields the installed releases that a package needs, and those that these need in turn.

    Of markers only extras are looked at: what another Python or platform needs is not installed.
    """
    for requirement in package.requires or ():
        text, _, marker = requirement.partition(";")
        name, its_extras, _ = split_requirement(text.strip())
        of_extras = set(re.findall(r"""extra\s*==\s*['"]([^'"]+)""", marker))
        found = _find_distribution(name)
        if found is None or name in seen or (of_extras and not of_extras & extras):
            continue
        seen.add(name)
        if _is_release(found):
            yield found
        yield from _iterate_needed(found, its_extras, seen)


def _is_release(package: Distribution) -> bool:
    """Whether an index has it: it was not installed from a folder, a file or a URL."""
    return "+" not in package.version and package.read_text("direct_url.json") is None
