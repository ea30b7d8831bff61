{% snapshot order_history %}
{{ config(unique_key='order_id', strategy='timestamp', updated_at='updated_at') }}
select order_id, status, amount, updated_at from {{ ref('stg_orders') }}
{% endsnapshot %}
