SELECT s.day, CAST(sum(s.cost * r.rate) AS DECIMAL(10,2)) AS cost
FROM {{ inlets.spend }} s JOIN {{ partitions }} p ON s.day = p.day CROSS JOIN {{ inlets.rates }} r
GROUP BY s.day
