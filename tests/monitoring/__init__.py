"""Dashboards, rules and runbooks: valid, and about metrics that are really exported."""
