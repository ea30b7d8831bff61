select id as customer, name, vip, since from {{ ref('raw_customers') }}
