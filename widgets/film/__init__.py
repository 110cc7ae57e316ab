"""A run below another picture, in one widget: see film_stage.py."""
