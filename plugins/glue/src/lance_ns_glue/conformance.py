"""How the conformance kit reaches Glue, and in what it differs: plain data, no import of the kit."""

from collections.abc import Mapping
from typing import Any

RECORDS = "http"
ENDPOINT = "endpoint"
HASTY = {"read_timeout": 1, "max_retries": 1}
PROPERTIES = {
    "endpoint": "http://catalog.invalid",
    "region": "us-east-1",
    "access_key_id": "replayed",
    "secret_access_key": "replayed-secret",
    "root": "{scratch}/lake",
    "creation_mark": "conformance",
}
EXPECTATIONS = {"max_depth": 1, "folds_case": True}
SERVERS = {"moto-5.2.5-shim": {"starts": "glue"}}


class GlueNative:
    """A few plain calls of botocore, without our backend."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        from botocore.config import Config
        from botocore.session import Session

        self.glue = Session().create_client(
            "glue",
            region_name=properties["region"],
            endpoint_url=properties["endpoint"],
            aws_access_key_id=properties["access_key_id"],
            aws_secret_access_key=properties["secret_access_key"],
            config=Config(retries={"mode": "standard", "total_max_attempts": 1}),
        )

    def version(self) -> str:
        """AWS does not tell; the stand-in of this workspace is known by the way to order faults."""
        import urllib3

        answer = urllib3.request("GET", f"{self.glue.meta.endpoint_url.rstrip('/')}/_control/faults", retries=False)
        return "moto + shim" if answer.status == 200 else ""

    def make_foreign(self, namespace: tuple[str, ...], prefix: str) -> dict[str, str]:
        """Tables that look like Lance tables but for one thing each."""
        external: dict[str, Any] = {"TableType": "EXTERNAL_TABLE", "StorageDescriptor": {"Location": "s3://x/y"}}
        kinds = {
            "plain": ("an external table without table_type", {**external}),
            "iceberg": ("an Iceberg table", {**external, "Parameters": {"table_type": "ICEBERG"}}),
            "managed": (
                "a table that is marked as Lance but not external",
                {**external, "TableType": "MANAGED_TABLE", "Parameters": {"table_type": "lance"}},
            ),
            "nowhere": (
                "a table that is marked as Lance but has no location",
                {"TableType": "EXTERNAL_TABLE", "Parameters": {"table_type": "lance"}},
            ),
            "view": ("a view", {"TableType": "VIRTUAL_VIEW", "ViewOriginalText": "SELECT 1"}),
        }
        for kind, (_, entry) in kinds.items():
            self._create((*namespace, f"{prefix}_{kind}"), entry)
        return {f"{prefix}_{kind}": words for kind, (words, _) in kinds.items()}

    def make_lance(self, id: tuple[str, ...], location: str, spelling: str) -> None:
        """An external table that is marked as Lance."""
        entry = {
            "TableType": "EXTERNAL_TABLE",
            "StorageDescriptor": {"Location": location},
            "Parameters": {"table_type": spelling},
        }
        self._create(id, entry)

    def holds(self, id: tuple[str, ...]) -> bool:
        """Whether Glue has the table."""
        return self.table(id) is not None

    def remove(self, id: tuple[str, ...]) -> None:
        """Delete the entry of the table."""
        self.glue.delete_table(DatabaseName=id[0], Name=id[1])

    def table(self, id: tuple[str, ...]) -> Any:
        """What Glue says of a table, None when there is none."""
        try:
            return self.glue.get_table(DatabaseName=id[0], Name=id[1])["Table"]
        except self.glue.exceptions.EntityNotFoundException:
            return None

    def database(self, name: str) -> Any:
        """What Glue says of a database, None when there is none."""
        try:
            return self.glue.get_database(Name=name)["Database"]
        except self.glue.exceptions.EntityNotFoundException:
            return None

    def make_database(self, name: str) -> None:
        """A database without anything."""
        self.glue.create_database(DatabaseInput={"Name": name})

    def remove_database(self, name: str) -> None:
        """Delete a database, with the entries of its tables."""
        self.glue.delete_database(Name=name)

    def close(self) -> None:
        """Close the connections."""
        self.glue.close()

    def _create(self, id: tuple[str, ...], entry: Mapping[str, Any]) -> None:
        self.glue.create_table(DatabaseName=id[0], TableInput={"Name": id[1], **entry})


def native(properties: Mapping[str, Any]) -> GlueNative:
    """A client of the catalog that is not ours."""
    return GlueNative(properties)
