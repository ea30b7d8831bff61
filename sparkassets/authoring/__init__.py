"""What assets are written with in Python: the decorator, names of assets, their partitions, the run that is going on.

Imports nothing heavy, neither of Spark nor of what compiles projects: whatever imports an author's module imports this.
"""

from sparkassets.authoring.arguments import (
    Asset,
    ConditionExpression,
    PartitionAtRuntime,
    PartitionByInterval,
    PartitionByProduct,
    PartitionBySequence,
    to_plain,
)
from sparkassets.authoring.current_context import get_current_context, is_in_function, set_current_context
from sparkassets.authoring.declarations import (
    AssetDeclaration,
    AssetFunction,
    AssetKeys,
    asset,
    collect_declarations,
    find_function,
    multi_asset,
)
from sparkassets.authoring.validation import AssetValidation

__all__ = [
    "Asset",
    "AssetDeclaration",
    "AssetFunction",
    "AssetKeys",
    "AssetValidation",
    "ConditionExpression",
    "PartitionAtRuntime",
    "PartitionByInterval",
    "PartitionByProduct",
    "PartitionBySequence",
    "asset",
    "collect_declarations",
    "find_function",
    "get_current_context",
    "is_in_function",
    "multi_asset",
    "set_current_context",
    "to_plain",
]
