SELECT shop, sum(orders) AS orders, sum(revenue) AS revenue
FROM {{ inlets.daily_revenue }}
GROUP BY ALL
ORDER BY revenue DESC
