"""Values of `${NAME}`: set for this invocation, else from the profile, else from the environment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from sparkassets.errors import InputError

PROFILE: Final = "SPARKASSETS_PROFILE"
"""The variable of the environment that names the profile; ``--profile`` goes before it."""

ENGINE: Final = "SPARKASSETS_ENGINE"
"""The variable of the environment that names the engine; ``--engine`` goes before it."""

_SET: Final = "--set "
"""Before the names that were set: no variable of an environment has a blank in its name."""


def merge_requested(
    environment: Mapping[str, str], *, profile: str | None, given: Mapping[str, str], engine: str | None = None
) -> dict[str, str]:
    """Merges the profile, the engine and the variables set for this invocation into the environment.

    >>> merge_requested({"A": "1"}, profile="dev", given={"B": "2"})
    {'A': '1', 'SPARKASSETS_PROFILE': 'dev', '--set B': '2'}
    """
    requested = {PROFILE: profile, ENGINE: engine}
    chosen = {name: value for name, value in requested.items() if value is not None}
    return {**environment, **chosen, **{f"{_SET}{name}": value for name, value in given.items()}}


def without_requested(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment alone, as a process can have it."""
    return {name: value for name, value in environment.items() if not name.startswith(_SET)}


def refuse_unknown(environment: Mapping[str, str], names: Collection[str]) -> None:
    """Refuses to set what no file of the project names.

    Args:
        environment: As `merge_requested` returns it.
        names: What the files name, as `VariableLookup` asks for it.

    Raises:
        InputError: With what was probably meant.
    """
    named = {name.removeprefix(_SET) for name in names}
    for name in requested_names(environment):
        if name not in named:
            from sparkassets.core.suggestions import did_you_mean  # for messages

            hint = did_you_mean(name, named - {PROFILE}) or ("--set sets the value of `${NAME}` in the project's files")
            raise InputError(f"the project does not use ${{{name}}}", hint=hint)


def requested_names(environment: Mapping[str, str]) -> list[str]:
    """The names that were set for this invocation."""
    return [name.removeprefix(_SET) for name in environment if name.startswith(_SET)]


class VariableLookup(Mapping[str, str]):
    """Variables by name.

    Args:
        environment: That of the process, as `merge_requested` returns it.
        profile: What the profile says.
        settable: Whether what was set for this invocation counts.

    >>> known = VariableLookup(merge_requested({"A": "1", "B": "1", "C": "1"}, profile=None, given={"C": "3"}),
    ...     {"B": "2", "C": "2"})
    >>> [known[name] for name in "ABC"]
    ['1', '2', '3']
    """

    def __init__(self, environment: Mapping[str, str], profile: Mapping[str, str], *, settable: bool = True) -> None:
        self._environment = environment
        self._profile = profile
        self._settable = settable

    def __getitem__(self, name: str) -> str:
        if self._settable and (given := self._environment.get(f"{_SET}{name}")) is not None:
            return given
        return self._profile[name] if name in self._profile else self._environment[name]

    def __iter__(self) -> Iterator[str]:
        return iter(
            dict.fromkeys([*requested_names(self._environment), *self._profile, *without_requested(self._environment)])
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)
