{% macro to_euros(column, digits=2) -%}
    {{ return(adapter.dispatch('to_euros')(column, digits)) }}
{%- endmacro %}

{% macro default__to_euros(column, digits) -%}
    cast({{ column }} / 100 as numeric(12, {{ digits }}))
{%- endmacro %}
