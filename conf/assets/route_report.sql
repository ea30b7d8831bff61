SELECT
  f.origin,
  f.dest,
  a.name AS destination,
  count(*) AS flights,
  count(f.dep_delay) AS departed,
  count_if(f.dep_delay > 15) AS late,
  sum(f.dep_delay) AS delay_minutes
FROM {{ inlets.flights }} f
LEFT JOIN {{ inlets.airports }} a ON a.faa = f.dest    -- some in the Caribbean are not listed
GROUP BY ALL
