import pyarrow as pa


def spend(context) -> pa.Table:
    """The cost of one warehouse on one day, as the billing service has it."""
    (block,) = context.partitions
    warehouse, day = block.segments["warehouse"], context.data_interval_start.date()
    return pa.table({"day": [day], "warehouse": [warehouse], "cost": [bill(day, warehouse)]})
