"""Judges events as others do: the client's own classes, made from the published schemas, and these schemas themselves.

The classes are strict here: no key that they do not have, none of theirs missing, no value of another type; a facet is
of the class whose schema it says that it keeps to. The schemas are taken from a checkout's ``spec`` folder, where the
variable ``OPENLINEAGE_SPEC`` names one.
"""

import importlib
import json
import os
import pkgutil
import types
import typing
from enum import Enum
from functools import cache
from pathlib import Path

import attr
from openlineage.client import generated
from openlineage.client.serde import Serde

from sparkassets.features.openlineage.openlineage_sink import to_client_event

PLACES = {"run": "facets", "job": "facets", "inputs": "inputFacets", "outputs": "outputFacets"}


def accepted(event):
    """The event as it is sent, once everybody has accepted it."""
    sent = json.loads(Serde.to_json(to_client_event(event)))
    assert sent == json.loads(json.dumps(event)), "the client sends something else"
    make_instance(classes()["https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"], sent, "event")
    if validator() is not None:
        validator()(sent)
    return sent


def make_instance(kind, value, place):
    """An instance of the client's class, of a plain value."""
    hints, fields = hints_of(kind), {each.alias: each for each in attr.fields(kind)}
    fields |= {each.name: each for each in attr.fields(kind)}
    unknown = {*value} - {*fields}
    assert not unknown, f"{place}: {kind.__name__} has no {unknown}"
    missing = {each.name for each in attr.fields(kind) if each.default is attr.NOTHING} - {*value}
    assert not missing, f"{place}: {kind.__name__} lacks {missing}"
    found = {
        fields[key].alias: checked(hints[fields[key].name], each, f"{place}.{key}")
        for key, each in value.items()
        if fields[key].init
    }
    return kind(**found)


def checked(hint, value, place):
    """The value, of a type."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return one_of(of, value, place)
    if origin is list:
        assert isinstance(value, list), place
        return [checked(of[0], each, f"{place}[{at}]") for at, each in enumerate(value)]
    if origin is dict:
        assert isinstance(value, dict), place
        return {key: facet_of(of[1], each, f"{place}.{key}") for key, each in value.items()}
    if hint is typing.Any:
        return value
    if isinstance(hint, type) and attr.has(hint):
        assert isinstance(value, dict), f"{place}: {value!r}"
        return make_instance(hint, value, place)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    hint = (int, float) if hint is float else hint
    assert isinstance(value, hint), f"{place}: {value!r} is no {hint}"
    assert not (isinstance(value, bool) and hint is not bool), place
    return value


def facet_of(hint, value, place):
    """A facet, of the class that it names, which fits where it stands; else the value."""
    if not (isinstance(value, dict) and "_schemaURL" in value):
        return checked(hint, value, place)
    kind = classes()[value["_schemaURL"]]
    assert issubclass(kind, hint), f"{place}: {kind.__name__} is no {hint.__name__}"
    return make_instance(kind, value, place)


def one_of(kinds, value, place):
    """Of several types the first that takes the value; ``type`` tells conditions apart."""
    if value is None:
        assert type(None) in kinds, place
        return None
    problems = []
    for kind in (each for each in kinds if each is not type(None)):
        if attr.has(kind) and isinstance(value, dict) and "type" in value:
            own = {each.name: each.default for each in attr.fields(kind)}.get("type")
            if own != value["type"]:
                continue
        try:
            return checked(kind, value, place)
        except AssertionError as problem:
            problems.append(str(problem))
    raise AssertionError(f"{place}: {value!r} is none of {kinds}: {problems}")


@cache
def modules():
    names = [each.name for each in pkgutil.iter_modules(generated.__path__)]
    return [importlib.import_module(f"{generated.__name__}.{name}") for name in names]


@cache
def classes():
    """Those of all that the client knows, by the address of their schema."""
    found = [each for module in modules() for each in vars(module).values() if isinstance(each, type)]
    return {each._get_schema(): each for each in found if attr.has(each) and hasattr(each, "_get_schema")}


@cache
def hints_of(kind):
    """The types of a class's fields, whose annotations are text."""
    names = {name: each for module in modules() for name, each in vars(module).items()} | vars(typing)
    own = vars(importlib.import_module(kind.__module__))
    return {each.name: resolved(each.type, {**names, **own}) for each in attr.fields(kind)}


def resolved(hint, names):
    held = types.SimpleNamespace(__annotations__={"it": hint})
    return typing.get_type_hints(held, names)["it"]


@cache
def validator():
    """Raises where an event is not as the published schemas have it; None where they are not here."""
    folder = os.environ.get("OPENLINEAGE_SPEC")
    if not folder:
        return None
    from jsonschema import Draft202012Validator, FormatChecker
    from referencing import Registry, Resource

    schemas = [
        json.loads(each.read_text()) for each in [Path(folder, "OpenLineage.json"), *Path(folder).glob("facets/*.json")]
    ]
    registry = Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in schemas)

    def against(reference, value):
        Draft202012Validator({"$ref": reference}, registry=registry, format_checker=FormatChecker()).validate(value)

    versions = {each["$id"].rpartition("/")[2]: each["$id"] for each in schemas}

    def ours(url):
        """The same of the version that is here."""
        address, _, inner = url.partition("#")
        return f"{versions[address.rpartition('/')[2]]}#{inner}"

    def validate(event):
        against("https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent", event)
        for each in facets_in(event):
            against(ours(each["_schemaURL"]), each)

    return validate


def facets_in(value):
    """Every facet of an event."""
    if isinstance(value, dict):
        if "_schemaURL" in value:
            yield value
        for each in value.values():
            yield from facets_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from facets_in(each)
