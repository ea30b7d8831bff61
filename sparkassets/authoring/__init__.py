"""What assets are written with in Python: the decorator, names of assets, their partitions, the run that is going on.

Imports nothing heavy, neither of Spark nor of what compiles projects: whatever imports an author's module imports this.
"""

from sparkassets.authoring.current import current, get_current_context, in_function
from sparkassets.authoring.declarations import (
    AssetFunction,
    AssetKeys,
    Declaration,
    asset,
    declarations_in,
    function_of,
    multi_asset,
)
from sparkassets.authoring.names import Asset, Expression
from sparkassets.authoring.partitions import (
    PartitionAtRuntime,
    PartitionByInterval,
    PartitionByProduct,
    PartitionBySequence,
)
from sparkassets.authoring.plain import plain
from sparkassets.authoring.validation import AssetValidation

__all__ = [
    "Asset",
    "AssetFunction",
    "AssetKeys",
    "AssetValidation",
    "Declaration",
    "Expression",
    "PartitionAtRuntime",
    "PartitionByInterval",
    "PartitionByProduct",
    "PartitionBySequence",
    "asset",
    "current",
    "declarations_in",
    "function_of",
    "get_current_context",
    "in_function",
    "multi_asset",
    "plain",
]
