{{ config(materialized='incremental', unique_key=['customer', 'status']) }}
select customer, status, max(order_id) as order_id, count(*) as orders
from {{ ref('stg_orders') }}
group by customer, status
