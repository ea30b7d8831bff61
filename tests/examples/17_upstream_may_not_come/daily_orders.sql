SELECT p.day, o.shop, count(o.amount) AS orders, coalesce(sum(o.amount), 0) AS revenue
FROM {{ partitions }} p LEFT JOIN {{ inlets.partner_orders }} o ON o.day = p.day
GROUP BY ALL
