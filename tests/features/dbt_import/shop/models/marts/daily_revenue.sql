{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='day', batch_size='day',
          begin='2025-01-01', lookback=1) }}
select cast(ordered_at as date) as day, sum(amount) as revenue
from {{ ref('stg_orders') }}
group by 1
