"""How a database of an older format becomes one of this version; also how a new one is made."""
