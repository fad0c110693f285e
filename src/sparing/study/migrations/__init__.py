"""Migrations that create a database, or upgrade one of an older format."""
