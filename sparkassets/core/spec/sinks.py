"""Compiles `sinks` of the project: each names a sink of an installed package, and has its parameters beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkassets.core.credentials import secrets_in
from sparkassets.core.entry_points import Factory, RegisteredError
from sparkassets.core.sinks import REGISTRY, RESERVED, SinkSpec, refuse_wrong_type
from sparkassets.core.spec.project_models import SinkMap
from sparkassets.core.spec.yaml_document import DocumentPlace


def compile_sinks(
    at: DocumentPlace, written: Sequence[SinkMap], *, installed: Mapping[str, Factory]
) -> tuple[SinkSpec, ...]:
    """The sinks; what is wrong becomes problems. None is made before a run commits something."""
    sinks = []
    for number, each in enumerate(written):
        place, parameters = at / number, dict(each.model_extra or {})
        for (number_of_key, *_), secret in secrets_in([*parameters.values()]):
            key = [*parameters][int(number_of_key)]
            hint = "give the name of an environment variable; the sink reads its value"
            (place / key).add_problem(
                f"{key!r} contains {secret}; project files are clear text", hint=hint, secret=True
            )
        try:
            factory, _ = REGISTRY.bind(each.sink, parameters, installed=installed, reserved=RESERVED)
            if isinstance(factory, type):  # what a function returns is only known where it is called
                refuse_wrong_type(each.sink, factory)
        except RegisteredError as error:
            place.add_refusal(error, name="sink")
        else:
            sinks.append(SinkSpec(each.sink, parameters))
    return tuple(sinks)
