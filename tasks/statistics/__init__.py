"""Intervals, resampling and agreement shared by the packages of `tasks`. Imports only `schemas` from the project."""
