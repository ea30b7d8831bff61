SELECT day, shop, count(*) AS orders, sum(amount) AS revenue FROM {{ inlets.orders }} GROUP BY ALL
