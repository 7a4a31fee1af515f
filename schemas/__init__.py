"""Params, table schemas and errors: what the rooms agree on. No IO here, and no import from `tasks` or `flows`."""
