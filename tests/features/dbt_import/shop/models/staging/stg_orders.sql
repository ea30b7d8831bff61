with source as (
    select * from {{ source('landing', 'raw_orders') }}
)

select
    id as order_id,
    customer,
    {{ to_euros('cents') }} as amount,
    status,
    ordered_at,
    updated_at
from source
where cents >= {{ var('least_cents') }}
