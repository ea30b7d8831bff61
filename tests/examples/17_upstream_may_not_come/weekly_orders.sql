SELECT trunc(day, 'WEEK') AS week, sum(orders) AS orders, sum(revenue) AS revenue, count_if(shop IS NULL) AS days_without
FROM {{ inlets.daily_orders }}
GROUP BY ALL
