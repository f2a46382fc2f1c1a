"""Glue by botocore alone."""

from typing import Any


class Client:
    """The calls themselves, with nothing between."""

    LANCE_ONLY, MAKES_AT_ONCE = False, 8

    def __init__(self, settings: dict[str, Any]) -> None:
        from botocore.config import Config
        from botocore.session import Session

        given = settings["properties"]
        self._glue = Session().create_client(
            "glue",
            region_name=given["region"],
            endpoint_url=given["endpoint"],
            aws_access_key_id=given["access_key_id"],
            aws_secret_access_key=given["secret_access_key"],
            config=Config(max_pool_connections=16),
        )
        self._root = given["root"]
        self._mixed = settings["mixed"]
        self._table = settings["table"]

    def describe(self, namespace: str, table: str) -> Any:
        """Where a table is."""
        return self._load(namespace, table)["StorageDescriptor"]["Location"]

    def _load(self, namespace: str, table: str) -> Any:
        return self._glue.get_table(DatabaseName=namespace, Name=table)["Table"]

    def count(self, namespace: str) -> int:
        """Page after page: the listing tells which are Lance tables."""
        found = 0
        token: dict[str, str] = {}
        while True:
            page = self._glue.get_tables(DatabaseName=namespace, MaxResults=100, **token)
            found += sum(map(self._is_lance, page["TableList"]))
            if "NextToken" not in page:
                return found
            token = {"NextToken": page["NextToken"]}

    @staticmethod
    def _is_lance(entry: Any) -> bool:
        return bool(entry.get("Parameters", {}).get("table_type", "").lower() == "lance")

    def step(self, worker: int, number: int) -> None:
        """One of the mixed operations."""
        kind = number % 20
        if kind == 0:
            self.make_table(self._mixed, f"w{worker}", True)
        elif kind == 19:
            self._load(self._mixed, f"w{worker}")  # only a Lance table may be dropped
            self._glue.delete_table(DatabaseName=self._mixed, Name=f"w{worker}")
        elif kind % 5 == 1:
            self._glue.get_database(Name=self._mixed)
        elif kind == 8:
            self._glue.get_databases(MaxResults=100)
        else:
            self._load(*self._table)

    def make_namespace(self, namespace: str) -> None:
        """Make a database."""
        self._glue.create_database(DatabaseInput={"Name": namespace})

    def make_table(self, namespace: str, table: str, is_lance: bool) -> None:
        """Make a table."""
        entry = {
            "Name": table,
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {"table_type": "LANCE"} if is_lance else {"table_type": "ICEBERG"},
            "StorageDescriptor": {"Location": f"{self._root}/{namespace}/{table}"},
        }
        self._glue.create_table(DatabaseName=namespace, TableInput=entry)
