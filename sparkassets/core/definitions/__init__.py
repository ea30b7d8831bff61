"""Definitions: what of an asset's own decides which rows come of the same input, so that a change of it can be told."""

from sparkassets.core.definitions.definition import Definition
from sparkassets.core.definitions.normal import normal_form

__all__ = ["Definition", "normal_form"]
