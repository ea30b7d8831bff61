SELECT warehouse, budget, DATE '{{ ds }}' AS of_day FROM {{ inlets.budgets }}
