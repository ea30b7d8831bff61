-- `NA` stands where a cancelled flight has no time. A plain CAST would fail on it; TRY_CAST makes it NULL.
SELECT
  flight_date AS day,                       -- from the file's name: a real date, unlike the column `day` of the file
  carrier,
  try_cast(flight AS INT) AS flight,
  nullif(tailnum, 'NA') AS tailnum,
  origin,
  dest,
  timestampadd(MINUTE, try_cast(minute AS INT), try_cast(time_hour AS TIMESTAMP)) AS scheduled_at,
  try_cast(dep_delay AS INT) AS dep_delay,  -- minutes; negative is early
  try_cast(arr_delay AS INT) AS arr_delay,
  try_cast(air_time AS INT) AS air_time,
  try_cast(distance AS INT) AS distance
FROM {{ inlets.flights_landed }}
