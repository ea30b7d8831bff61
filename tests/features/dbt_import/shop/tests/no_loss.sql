select 1 as lost from {{ ref('daily_revenue') }} where revenue < 0
