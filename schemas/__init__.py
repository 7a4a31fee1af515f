"""Params, table schemas and errors shared by all packages. No IO, and no import from `tasks` or `flows`."""
