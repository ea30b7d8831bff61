SELECT customer, mean_kwh * 24 AS kwh_of_a_day FROM {{ inlets.energy_model }}
