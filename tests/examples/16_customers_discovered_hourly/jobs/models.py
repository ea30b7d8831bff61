from pyspark.sql.functions import avg

from sparkassets import PartitionAtRuntime, asset

active_customers = PartitionAtRuntime(name="customer")


@asset(schedule="@hourly", strategy="full_refresh", partition=active_customers)
def energy_model(readings):
    """A model for each customer of this hour: a new one is part of the run, one that left has no rows any more."""
    customers = current_customers()
    for customer in customers:
        active_customers.add_partition(key=customer)
    own = readings.where(readings.customer.isin(customers))
    return own.groupBy("customer").agg(avg("kwh").alias("mean_kwh"))
