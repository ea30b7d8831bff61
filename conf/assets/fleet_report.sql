SELECT
  p.manufacturer,
  count(DISTINCT f.tailnum) AS planes,
  count(*) AS flights,
  sum(f.distance) AS miles,
  sum(p.seats) AS seats
FROM {{ inlets.flights }} f
JOIN {{ inlets.planes }} p ON p.tailnum = f.tailnum
WHERE f.dep_delay IS NOT NULL
GROUP BY ALL
