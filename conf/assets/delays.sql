WITH departures AS (
  SELECT
    day,
    origin,
    count(*) AS flights,
    count(dep_delay) AS departed,           -- a cancelled flight has no delay
    count_if(dep_delay > 15) AS late,
    sum(dep_delay) AS delay_minutes
  FROM {{ inlets.flights }}
  GROUP BY ALL
)
SELECT
  d.*,
  w.hours AS weather_hours,
  w.max_wind_mph,
  w.precip_inches,
  w.min_visibility_miles
FROM departures d
LEFT JOIN {{ inlets.weather_daily }} w ON w.day = d.day AND w.origin = d.origin
