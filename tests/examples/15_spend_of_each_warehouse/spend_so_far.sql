SELECT warehouse, count(*) AS days, sum(cost) AS cost FROM {{ inlets.spend }} GROUP BY warehouse
