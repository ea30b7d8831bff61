SELECT scheduled_at, carrier, flight, origin, dest, dep_delay, '{{ run_id }}' AS run_id
FROM {{ inlets.flights }}
WHERE dep_delay >= 120
