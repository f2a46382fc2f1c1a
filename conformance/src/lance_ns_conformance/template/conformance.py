"""How the conformance kit reaches this backend, and in what it differs: plain data, no import of the kit."""

PROPERTIES = {"file": "{scratch}/catalog", "root": "{scratch}/lake"}
EXPECTATIONS = {"tables_at_base": True}
