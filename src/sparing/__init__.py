"""Train linear models without paying for everything."""

__version__ = "0.1.0"
