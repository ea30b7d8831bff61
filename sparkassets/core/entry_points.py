"""Entry points of other packages: their factories, and the factories' parameters, which are keys of the YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Final
from warnings import catch_warnings

from sparkassets.core.phrases import show_value
from sparkassets.errors import InputError, describe_error
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

Factory = Callable[..., object]
"""Makes what is registered of its parameters, given by keyword."""

PLUGIN_FAILURES: Final = (Exception, SystemExit)
"""What code of a package may raise: `sys.exit` in it is a failure of the package and no end of the command."""

_BY_KEYWORD: Final = frozenset({Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY})


class RegisteredError(InputError):
    """There is no such name, or the parameters are wrong.

    Attributes:
        path: Keys from the one that names it to the value at fault.
        at_key: Whether the last key of the path is at fault, else its value.
        lacks: Whether a key is missing: no fault of its own where another key was refused already.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        path: tuple[str | int, ...] = (),
        at_key: bool = False,
        lacks: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.at_key = at_key
        self.lacks = lacks


@frozen
class EntryPointRegistry:
    """The registry of one kind of objects that packages register.

    Attributes:
        noun: What one is called.
        group: The entry point group.
        owner: What the parameters are keys of.
        raises: The class of what is raised, with the arguments of `RegisteredError`.
        built_in: Names that no package may register, each with what to write instead.
    """

    noun: str
    group: str
    owner: str
    raises: Callable[..., InputError] = RegisteredError
    built_in: Mapping[str, str] = field(default_factory=dict)

    def make(
        self,
        name: str,
        parameters: Mapping[str, object],
        *,
        installed: Mapping[str, Factory],
        reserved: Collection[str],
        supplied: Mapping[str, object] | None = None,
    ) -> Any:  # noqa: ANN401  of another package
        """What the factory of that name makes of these parameters.

        Args:
            name: As written.
            parameters: The keys beside the name, as of JSON.
            installed: What is registered; asked for this name only.
            reserved: Keys that are beside the parameters; no parameter may have such a name.
            supplied: Parameters whose values no file says; a factory may have them or not.

        Raises:
            InputError: There is none of that name, its parameters are wrong, or it fails.
        """
        factory, given = self.bind(name, parameters, installed=installed, reserved=reserved, supplied=supplied)
        return self.make_instance(name, factory, given)

    def bind(
        self,
        name: str,
        parameters: Mapping[str, object],
        *,
        installed: Mapping[str, Factory],
        reserved: Collection[str],
        supplied: Mapping[str, object] | None = None,
    ) -> tuple[Factory, Mapping[str, Any]]:
        """The factory of that name, and the parameters that it is called with; the arguments are those of `make`.

        Raises:
            InputError: There is none of that name, or its parameters are wrong.
        """
        factory, own = self.factory(name, installed), supplied or {}
        taken = self.accepted_parameters(name, factory, {*reserved} - own.keys())
        written = {key: each for key, each in taken.items() if key not in own}
        given = self.validate_parameters(name, written, parameters)
        return factory, {**given, **{key: value for key, value in own.items() if key in taken}}

    def factory(self, name: str, installed: Mapping[str, Factory]) -> Factory:
        """The factory of that name.

        Raises:
            InputError: There is none, or it is built in.
        """
        if name in self.built_in:
            message = f"'{name}' is a built-in {self.noun}, not one that a package registers"
            raise self.raises(message, hint=self.built_in[name])
        if name not in installed:
            known = ", ".join(sorted(installed.keys() - self.built_in.keys())) or "none"
            raise self.raises(f"unknown {self.noun} '{name}'; installed: {known}", hint=self._hint_for(name, installed))
        return installed[name]

    def accepted_parameters(self, name: str, factory: Factory, reserved: Collection[str]) -> Mapping[str, Parameter]:
        """The parameters that the factory takes by keyword.

        Args:
            name: The registered name.
            factory: Is only looked at.
            reserved: Keys beside the parameters; no parameter may have such a name.

        Raises:
            InputError: They cannot be read, or one has a reserved name.
        """
        try:
            found = signature(factory, eval_str=True).parameters
        except PLUGIN_FAILURES as error:  # whatever an annotation of another package does
            why = describe_error(error)
            raise self.raises(f"the parameters of {self.noun} '{name}' cannot be determined: {why}") from error
        taken = {key: each for key, each in found.items() if each.kind in _BY_KEYWORD}
        if swallowed := next((key for key in taken if key in reserved), None):
            message = f"{self.noun} '{name}' has a parameter '{swallowed}', a reserved key of every {self.owner}"
            raise self.raises(message, hint="its package must rename the parameter")
        return taken

    def validate_parameters(
        self, name: str, taken: Mapping[str, Parameter], parameters: Mapping[str, object]
    ) -> dict[str, Any]:
        """The parameters in the types that their annotations ask for.

        They are validated as JSON, strictly: a date may be text, but no text is a number.

        Raises:
            InputError: One is wrong, or missing.
        """
        from pydantic import ValidationError

        from sparkassets.core.suggestions import did_you_mean

        keys = [*taken]
        if unknown := next((key for key in parameters if key not in keys), None):
            message = f"unknown key '{unknown}' of {self.noun} '{name}'; expected {', '.join(keys) or 'none'}"
            raise self.raises(message, hint=did_you_mean(unknown, keys), path=(unknown,), at_key=True)
        model = self._make_model(name, taken)
        try:
            valid = model.model_validate_json(json.dumps(dict(parameters)))
        except ValidationError as error:
            raise self._explain(name, parameters, error) from error
        return {key: getattr(valid, f"p{keys.index(key)}") for key in parameters}

    def _make_model(self, name: str, taken: Mapping[str, Parameter]) -> type[BaseModel]:
        """A model with a field for each parameter, ``p`` and its number."""
        from pydantic import ConfigDict, Field, create_model

        fields: dict[str, Any] = {
            f"p{number}": (
                Any if taken[key].annotation is Parameter.empty else taken[key].annotation,
                Field(alias=key) if taken[key].default is Parameter.empty else Field(None, alias=key),
            )
            for number, key in enumerate(taken)  # under their own names some would hide what a model has
        }
        strict = ConfigDict(strict=True, arbitrary_types_allowed=True)
        try:
            with catch_warnings(action="error"):
                return create_model("Parameters", __config__=strict, **fields)
        except Exception as error:  # whatever an annotation of another package is
            why = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise self.raises(f"the parameters of {self.noun} '{name}' cannot be determined: {why}") from error

    def _explain(self, name: str, parameters: Mapping[str, object], error: ValidationError) -> InputError:
        """The first of pydantic's errors in the project's words."""
        first = error.errors(include_url=False)[0]
        key = str(first["loc"][0])
        if first["type"] == "missing":
            return self.raises(f"{self.noun} '{name}' needs the key '{key}'", lacks=True)
        words = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        message = f"'{key}' of {self.noun} '{name}' is {show_value(parameters[key])}; expected {words}"
        return self.raises(message, path=(key,))

    def make_instance(self, name: str, factory: Factory, given: Mapping[str, Any]) -> Any:  # noqa: ANN401  of another package
        """Calls the factory with these parameters.

        Raises:
            InputError: It refuses the parameters, or fails.
        """
        try:
            return factory(**given)
        except (TypeError, ValueError) as error:
            raise self.raises(f"{self.noun} '{name}' rejected its parameters: {error}") from error
        except PLUGIN_FAILURES as error:
            raise self.raises(f"{self.noun} '{name}' failed: {describe_error(error)}") from error

    def call(self, name: str, method: Callable[[], object]) -> Any:  # noqa: ANN401  of another package
        """What a method of another package's object returns.

        Raises:
            InputError: It fails.
        """
        try:
            return method()
        except PLUGIN_FAILURES as error:
            raise self.raises(f"{self.noun} '{name}' failed: {describe_error(error)}") from error

    def _hint_for(self, name: str, installed: Mapping[str, Factory]) -> str:
        """What to do about an unknown name: use the registered one, a similar one, or install its package."""
        if re.search(r"[.:/]", name):
            return f"use the name that a package registers in the entry point group '{self.group}', not an import path"
        from sparkassets.core.suggestions import suggest_close

        install = f"install the package that registers it in the entry point group '{self.group}'"
        return suggest_close(name, {*installed, *self.built_in}) or install


@frozen
class InstalledKinds:
    """What installed packages register of each kind, by name; only names that a project names are looked up."""

    timetables: Mapping[str, Factory] = field(default_factory=dict)
    checks: Mapping[str, Factory] = field(default_factory=dict)
    sinks: Mapping[str, Factory] = field(default_factory=dict)
    sources: Mapping[str, Factory] = field(default_factory=dict)
    writes: Mapping[str, Factory] = field(default_factory=dict)
