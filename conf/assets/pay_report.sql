SELECT carrier, count(*) AS flights, count(dep_delay) AS departed
FROM {{ inlets.flights }}
GROUP BY ALL
