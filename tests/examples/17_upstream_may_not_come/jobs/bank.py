"""The days on which banks pay."""

SATURDAY = 5


def days(context, spark):
    (block,) = context.partitions
    if block.start.weekday() >= SATURDAY:
        context.skip("banks do not pay at weekends")
    return spark.createDataFrame([(block.start.date(), f"value-{block.key}")], "day date, value string")
