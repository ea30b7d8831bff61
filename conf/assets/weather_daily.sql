-- The session's clock is UTC, always. A day of the airports begins at 05:00 UTC in winter and at 04:00 in summer.
-- Decimals instead of doubles: their sum does not depend on the order in which Spark adds.
SELECT
  to_date(from_utc_timestamp(utc_hour, 'America/New_York')) AS day,
  origin,
  count(*) AS hours,
  avg(try_cast(temp AS DECIMAL(6, 2))) AS mean_temp_f,
  max(try_cast(wind_speed AS DECIMAL(6, 2))) AS max_wind_mph,
  sum(try_cast(precip AS DECIMAL(6, 2))) AS precip_inches,
  min(try_cast(visib AS DECIMAL(6, 2))) AS min_visibility_miles
FROM {{ inlets.weather_landed }}
GROUP BY ALL
