"""How the conformance kit reaches this backend, and in what it differs: plain data, no import of the kit."""

PROPERTIES = {"root": "{scratch}/lake"}
EXPECTATIONS = {"tables_at_base": True, "shared_names": True}
