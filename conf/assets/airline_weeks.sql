SELECT
  trunc(day, 'WEEK') AS week,               -- its Monday
  carrier,
  count(*) AS flights,
  count(dep_delay) AS departed,
  sum(dep_delay) AS delay_minutes
FROM {{ inlets.flights }}
GROUP BY ALL
