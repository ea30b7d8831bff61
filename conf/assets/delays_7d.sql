-- `partitions` holds the days of this run as rows, so one Spark job computes any number of them, next to each other or not.
SELECT
  p.day,
  d.origin,
  sum(d.flights) AS flights,
  sum(d.departed) AS departed,
  sum(d.late) AS late,
  round(sum(d.delay_minutes) / sum(d.departed), 2) AS mean_delay
FROM {{ partitions }} p
JOIN {{ inlets.delays }} d ON d.day BETWEEN date_sub(p.day, 6) AND p.day
GROUP BY ALL
