"""Patches moto's Glue, in this process, to behave as AWS does."""

import functools
import json
import threading
from collections.abc import Callable
from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.core.exceptions import JsonRESTError
from moto.core.responses import ActionResult
from moto.glue.models import FakeTable, glue_backends
from moto.glue.responses import GlueResponse
from moto.sts.models import STSBackend
from moto.sts.responses import TokenResponse

from servers.shim.pages import InvalidPageSize, InvalidToken, Pager
from servers.shim.sessions import Sessions

# Operations on databases and tables: only in these is `Name` a name that AWS folds.
_CATALOG_OPERATIONS = frozenset(
    f"{verb}{noun}"
    for verb, noun in [
        *(
            (verb, noun)
            for verb in ("Create", "Get", "Update", "Delete")
            for noun in ("Database", "Table", "Partition")
        ),
        ("Get", "Databases"),
        ("Get", "Tables"),
        ("Get", "TableVersion"),
        ("Get", "TableVersions"),
        ("Delete", "TableVersion"),
        ("BatchDelete", "Table"),
        ("Get", "Partitions"),
        ("BatchGet", "Partition"),
        ("BatchCreate", "Partition"),
        ("BatchUpdate", "Partition"),
        ("BatchDelete", "Partition"),
    ]
)


def fold(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters with every name of a database or a table in lower case."""
    folded = dict(parameters)
    for key in ("Name", "DatabaseName", "TableName"):
        if isinstance(folded.get(key), str):
            folded[key] = folded[key].lower()
    for key in ("DatabaseInput", "TableInput"):
        if isinstance(folded.get(key), dict) and isinstance(folded[key].get("Name"), str):
            folded[key] = {**folded[key], "Name": folded[key]["Name"].lower()}
    if isinstance(folded.get("TablesToDelete"), list):
        folded["TablesToDelete"] = [str(name).lower() for name in folded["TablesToDelete"]]
    return folded


class Catalogs:
    """The accounts whose catalogs exist: the default one, those in which a role was assumed, those made for a test."""

    def __init__(self) -> None:
        self._known = {DEFAULT_ACCOUNT_ID}

    def add(self, catalog_id: str) -> None:
        """Let a catalog exist."""
        self._known.add(catalog_id)

    def __contains__(self, catalog_id: str) -> bool:
        return catalog_id in self._known


class GluePatches:
    """The patches, applied once; `undo` puts moto back as it was."""

    def __init__(self, pager: Pager, sessions: Sessions, catalogs: Catalogs) -> None:
        self._pager, self._sessions, self._catalogs = pager, sessions, catalogs
        self._saved: list[tuple[type, str, Any]] = []
        self._lock = threading.RLock()

    def apply(self) -> None:
        """Patch names, catalogs, paging, versions, fields and sessions."""
        self._replace(GlueResponse, "parameters", property(_folded_parameters))
        self._replace(GlueResponse, "glue_backend", property(self._backend))
        self._replace(GlueResponse, "call_action", self._one_at_a_time(GlueResponse.call_action))
        self._replace(GlueResponse, "get_databases", self._get_databases())
        self._replace(GlueResponse, "get_tables", self._get_tables())
        self._replace(GlueResponse, "get_table_versions", self._get_table_versions())
        self._replace(GlueResponse, "update_table", _checked_update(GlueResponse.update_table))
        self._replace(FakeTable, "__init__", _from_version_zero(FakeTable.__init__))
        self._replace(FakeTable, "as_dict", _with_all_fields(FakeTable.as_dict))
        self._replace(STSBackend, "assume_role", self._noted_role(STSBackend.assume_role))
        for name in ("get_session_token", "get_federation_token"):
            self._replace(TokenResponse, name, self._real_token(getattr(TokenResponse, name)))

    def undo(self) -> None:
        """Take the patches away."""
        for owner, name, original in reversed(self._saved):
            setattr(owner, name, original)
        self._saved.clear()

    def _replace(self, owner: type, name: str, value: Any) -> None:
        self._saved.append((owner, name, vars(owner)[name] if name in vars(owner) else getattr(owner, name)))
        setattr(owner, name, value)

    def _one_at_a_time(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call_action(response: Any) -> Any:
            with self._lock:
                return original(response)

        return call_action

    def _backend(self, response: Any) -> Any:
        """The catalog that the request names, its own account's without a name."""
        self._catalogs.add(response.current_account)
        catalog = json.loads(response.body or "{}").get("CatalogId") or response.current_account
        if catalog not in self._catalogs:
            raise JsonRESTError("EntityNotFoundException", f"Catalog {catalog} not found.")
        return glue_backends[catalog][response.region]

    def _page(self, response: Any, key: str, items: list[Any], name_of: Callable[[Any], str]) -> ActionResult:
        asked = response.parameters
        scope = [str(asked.get(part) or "") for part in ("CatalogId", "DatabaseName", "TableName", "Expression")]
        listing = [key, response.current_account, response.region, *scope]
        size = asked.get("MaxResults")
        try:
            page, token = self._pager.cut(listing, items, name_of, size, asked.get("NextToken"))
        except InvalidPageSize:
            at = "less than or equal to 100" if int(size) > 100 else "greater than or equal to 1"
            text = (
                f"1 validation error detected: Value '{size}' at 'maxResults' failed to satisfy constraint: "
                f"Member must have value {at}"
            )
            raise JsonRESTError("ValidationException", text) from None
        except InvalidToken:
            raise JsonRESTError("InvalidInputException", "Invalid token.") from None
        answer: dict[str, Any] = {key: page}
        if token is not None:
            answer["NextToken"] = token
        return ActionResult(answer)

    def _get_databases(self) -> Callable[[Any], ActionResult]:
        def get_databases(response: Any) -> ActionResult:
            found = [database.as_dict() for database in response.glue_backend.get_databases()]
            return self._page(response, "DatabaseList", found, lambda database: str(database["Name"]))

        return get_databases

    def _get_tables(self) -> Callable[[Any], ActionResult]:
        def get_tables(response: Any) -> ActionResult:
            asked = response.parameters
            tables = response.glue_backend.get_tables(asked.get("DatabaseName"), asked.get("Expression"))
            found = [table.as_dict() for table in tables]
            return self._page(response, "TableList", found, lambda table: str(table["Name"]))

        return get_tables

    def _get_table_versions(self) -> Callable[[Any], ActionResult]:
        def get_table_versions(response: Any) -> ActionResult:
            asked = response.parameters
            versions = response.glue_backend.get_table_versions(asked.get("DatabaseName"), asked.get("TableName"))
            found = [{"Table": table, "VersionId": version} for version, table in versions.items()]
            return self._page(response, "TableVersions", found, lambda each: str(each["VersionId"]).zfill(12))

        return get_table_versions

    def _noted_role(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def assume_role(backend: Any, *arguments: Any, **named: Any) -> Any:
            role = original(backend, *arguments, **named)
            seconds = named.get("duration") or 3600
            self._sessions.issue(role.session_token, role.access_key_id, int(seconds))
            self._catalogs.add(role.account_id)
            return role

        return assume_role

    def _real_token(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def answer(response: Any) -> Any:
            result = original(response)
            credentials = result.result["Credentials"]
            access_key, secret_key, token = self._sessions.new_credentials()
            credentials.update(AccessKeyId=access_key, SecretAccessKey=secret_key, SessionToken=token)
            asked = response.querystring.get("DurationSeconds", ["43200"])
            self._sessions.issue(token, access_key, int(asked[0]))
            return result

        return answer


def _folded_parameters(response: Any) -> dict[str, Any]:
    parameters: dict[str, Any] = json.loads(response.body or "{}")
    action = response.headers.get("X-Amz-Target", "").rpartition(".")[2]
    return fold(parameters) if action in _CATALOG_OPERATIONS else parameters


def _checked_update(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def update_table(response: Any) -> Any:
        asked = response.parameters
        table = response.glue_backend.get_table(asked.get("DatabaseName"), asked["TableInput"].get("Name"))
        current = str(table.as_dict()["VersionId"])
        expected = asked.get("VersionId")
        if expected is not None and str(expected) != current:
            text = f"Update table failed due to concurrent modifications: version {expected} is not {current}."
            raise JsonRESTError("ConcurrentModificationException", text)
        result = original(response)
        if asked.get("SkipArchive"):
            table.versions.pop(current, None)
        return result

    return update_table


def _from_version_zero(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def initialise(table: Any, *arguments: Any, **named: Any) -> None:
        original(table, *arguments, **named)
        (only,) = table.versions.values()
        table.versions = {"0": only}
        table._current_version = 0  # noqa: SLF001

    return initialise


def _with_all_fields(original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    @functools.wraps(original)
    def as_dict(table: Any, version: str | None = None) -> dict[str, Any]:
        shown = original(table, version)
        shown.setdefault("UpdateTime", table.created_time)
        shown.setdefault("Retention", 0)
        shown.setdefault("CreatedBy", f"arn:aws:iam::{table.catalog_id}:user/lance-ns")
        shown.setdefault("IsRegisteredWithLakeFormation", False)
        return shown

    return as_dict
