"""What the tests of `glue` share: a service on this machine that answers as a function says."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest
from botocore import xform_name

import lance_ns
from lance_ns_conformance.scenarios.glue import entry, refused
from lance_ns_conformance.stand_in import Asked, Reply, StandIn

FIXTURES = Path(__file__).parent / "fixtures"
STATIC = {"region": "eu-west-1", "access_key_id": "AKSTATIC", "secret_access_key": "static-secret", "max_retries": 0}


@pytest.fixture(autouse=True)
def no_credentials_of_this_machine(monkeypatch, tmp_path):
    """AWS clients find nothing where they look, unless a test puts it there."""
    import os

    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "aws-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def documented() -> Callable[[str], Any]:
    """What AWS' reference documents."""
    return lambda name: json.loads((FIXTURES / f"{name}.json").read_text())


@pytest.fixture
def service() -> Iterator[Callable[..., "Service"]]:
    """A factory: `service(answer)` answers operations by `answer(operation, parameters)`."""
    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(Service(answer))


@pytest.fixture
def holding() -> Callable[..., "Catalog"]:
    """A factory: `holding("docs")` is a catalog whose database `ml` has that table, for a service to answer from."""
    return Catalog


class Service:
    """A stand-in for Glue and STS, the connections to it, and what it was asked."""

    def __init__(self, answer: Callable[[str, dict[str, Any]], Reply]) -> None:
        self._answer = answer
        self._server = StandIn(self._reply)
        self._stack = ExitStack()

    def connect(self, **properties: Any) -> lance_ns.Namespace:
        """A connection with static credentials; None takes one of the usual properties away."""
        given = {"endpoint": self.url, "root": "s3://lake", **STATIC, **properties}
        return self._stack.enter_context(
            lance_ns.connect("glue", {name: value for name, value in given.items() if value is not None})
        )

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def asked(self) -> list[tuple[str, dict[str, Any]]]:
        """The operations and their parameters, in order."""
        return [(operation_of(each), parameters_of(each)) for each in self._server.seen]

    @property
    def operations(self) -> list[str]:
        return [operation for operation, _ in self.asked]

    @property
    def keys(self) -> list[str]:
        """The access keys that the calls were signed with."""
        return [
            header(each, "Authorization").partition("Credential=")[2].partition("/")[0] for each in self._server.seen
        ]

    @property
    def requests(self) -> list[Asked]:
        return self._server.seen

    def _reply(self, asked: Asked) -> Reply:
        return self._answer(operation_of(asked), parameters_of(asked))

    def __enter__(self) -> Self:
        self._stack.enter_context(self._server)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def header(asked: Asked, name: str) -> str:
    return next((value for key, value in asked.headers.items() if key.lower() == name.lower()), "")


def operation_of(asked: Asked) -> str:
    return header(asked, "X-Amz-Target").rpartition(".")[2] or parameters_of(asked)["Action"]


def parameters_of(asked: Asked) -> dict[str, Any]:
    from urllib.parse import parse_qsl

    text = asked.body.decode()
    return json.loads(text) if text.startswith("{") else dict(parse_qsl(text))


class Catalog:
    """One database of Glue in memory, with the few rules that these tests are about."""

    def __init__(self, *tables: str) -> None:
        self.tables = {name: entry(name, location=f"s3://lake/ml/{name}", version="0") for name in tables}
        self.database = {"Name": "ml", "Parameters": {}}
        self.faults: list[tuple[str, bool, Reply]] = []

    def __call__(self, operation: str, asked) -> Reply:
        """Answer, unless a fault comes first (or, after it was done, in the place of the answer)."""
        fault = next((each for each in self.faults if each[0] == operation), None)
        if fault is not None:
            self.faults.remove(fault)
            if fault[1]:
                getattr(self, xform_name(operation))(asked)
            return fault[2]
        return getattr(self, xform_name(operation))(asked)

    def get_table(self, asked) -> Reply:
        found = self.tables.get(asked["Name"])
        return Reply(body={"Table": found}) if found else refused("EntityNotFoundException")

    def get_tables(self, asked) -> Reply:
        start = int(asked.get("NextToken", 0))
        names = sorted(self.tables)
        end = start + asked["MaxResults"]
        token = {"NextToken": str(end)} if end < len(names) else {}
        return Reply(body={"TableList": [self.tables[name] for name in names[start:end]], **token})

    def create_table(self, asked) -> Reply:
        wanted = asked["TableInput"]
        if wanted["Name"] in self.tables:
            return refused("AlreadyExistsException")
        self.tables[wanted["Name"]] = {**wanted, "VersionId": "0"}
        return Reply(body={})

    def update_table(self, asked) -> Reply:
        wanted = asked["TableInput"]
        version = self.tables[wanted["Name"]]["VersionId"]
        if asked["VersionId"] != version:
            return refused("ConcurrentModificationException")
        self.tables[wanted["Name"]] = {**wanted, "VersionId": str(int(version) + 1)}
        return Reply(body={})

    def delete_table(self, asked) -> Reply:
        return Reply(body={}) if self.tables.pop(asked["Name"], None) else refused("EntityNotFoundException")

    def batch_delete_table(self, asked) -> Reply:
        gone = [name for name in asked["TablesToDelete"] if self.tables.pop(name, None) is None]
        detail = {"ErrorCode": "EntityNotFoundException", "ErrorMessage": "none"}
        return Reply(body={"Errors": [{"TableName": name, "ErrorDetail": detail} for name in gone]})

    def create_database(self, asked) -> Reply:
        if self.database is not None:
            return refused("AlreadyExistsException")
        self.database = asked["DatabaseInput"]
        return Reply(body={})

    def get_database(self, asked) -> Reply:
        return Reply(body={"Database": self.database}) if self.database else refused("EntityNotFoundException")

    def get_databases(self, asked) -> Reply:
        return Reply(body={"DatabaseList": [self.database] if self.database else []})

    def update_database(self, asked) -> Reply:
        self.database = asked["DatabaseInput"]
        return Reply(body={})

    def delete_database(self, asked) -> Reply:
        self.database, before = None, self.database
        return Reply(body={}) if before else refused("EntityNotFoundException")
