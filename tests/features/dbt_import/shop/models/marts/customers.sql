{%- set statuses = ['placed', 'sent'] -%}
select
    c.customer,
    c.name,
    {%- for status in statuses %}
    count(case when o.status = '{{ status }}' then 1 end) as {{ status }}_orders,
    {%- endfor %}
    coalesce(sum(o.amount), 0) as amount,
    max(cast(o.ordered_at as date)) as last_day
from {{ ref('stg_customers') }} as c
left join {{ ref('stg_orders') }} as o on o.customer = c.customer
group by 1, 2
