"""Every row of the difference between moto's Glue and the real one, seen through botocore."""

from __future__ import annotations

import functools
import io
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from servers.shim.control import GlueControl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

botocore = pytest.importorskip("botocore")


@functools.cache
def session() -> Any:
    """One session for all clients: the first client of a session costs ten times as much as the others."""
    import botocore.session

    return botocore.session.Session()


def client_for(
    service: str, endpoint: str, attempts: int = 1, settings: dict[str, Any] | None = None, **credentials: str
) -> Any:
    import botocore.config

    retries = {"mode": "standard", "total_max_attempts": attempts}
    config = botocore.config.Config(retries=retries, **({"read_timeout": 20} | (settings or {})))
    keys = {"aws_access_key_id": "AKIATEST", "aws_secret_access_key": "x"} | credentials
    return session().create_client(service, region_name="us-east-1", endpoint_url=endpoint, config=config, **keys)


def code_of(call: Callable[..., Any], **arguments: Any) -> str:
    import botocore.exceptions

    with pytest.raises(botocore.exceptions.ClientError) as caught:
        call(**arguments)
    return str(caught.value.response["Error"]["Code"])


@pytest.fixture
def control(shim: str) -> Iterator[GlueControl]:
    made = GlueControl(shim)
    made.clear()
    yield made
    made.clear()
    made.session_seconds(None)
    made.ragged_pages(True)


@pytest.fixture
def glue(shim: str, control: GlueControl) -> Any:
    return client_for("glue", shim)


@pytest.fixture
def database(glue: Any) -> str:
    name = f"db_{uuid.uuid4().hex[:12]}"
    glue.create_database(DatabaseInput={"Name": name})
    return name


def make_tables(glue: Any, database: str, count: int) -> list[str]:
    names = [f"t{number:04}" for number in range(count)]
    for name in names:
        glue.create_table(DatabaseName=database, TableInput={"Name": name})
    return names


def pages_of(glue: Any, database: str, size: int) -> list[list[str]]:
    pages, token = [], None
    while True:
        more = {"NextToken": token} if token else {}
        answer = glue.get_tables(DatabaseName=database, MaxResults=size, **more)
        pages.append([table["Name"] for table in answer["TableList"]])
        token = answer.get("NextToken")
        if token is None:
            return pages


def test_names_are_folded_and_a_second_spelling_exists_already(glue: Any, database: str) -> None:
    glue.create_table(DatabaseName=database.upper(), TableInput={"Name": "MixedCase"})
    assert glue.get_table(DatabaseName=database, Name="MIXEDcase")["Table"]["Name"] == "mixedcase"
    assert (
        code_of(glue.create_table, DatabaseName=database, TableInput={"Name": "mixedCASE"}) == "AlreadyExistsException"
    )
    assert code_of(glue.create_database, DatabaseInput={"Name": database.upper()}) == "AlreadyExistsException"
    glue.batch_delete_table(DatabaseName=database, TablesToDelete=["MIXEDCASE"])
    assert code_of(glue.get_table, DatabaseName=database, Name="mixedcase") == "EntityNotFoundException"


def test_a_listing_without_a_size_has_at_most_a_hundred_in_a_page(glue: Any, database: str) -> None:
    make_tables(glue, database, 101)
    answer = glue.get_tables(DatabaseName=database)
    assert 0 < len(answer["TableList"]) <= 100
    assert answer["NextToken"]


def test_pages_together_hold_every_table_once_in_order(glue: Any, database: str) -> None:
    names = make_tables(glue, database, 23)
    assert [name for page in pages_of(glue, database, 5) for name in page] == names


def test_pages_before_the_last_may_be_short_or_empty(glue: Any, database: str) -> None:
    make_tables(glue, database, 3)
    assert pages_of(glue, database, 2)[0] == ["t0000"]
    assert pages_of(glue, database, 1)[0] == []


def test_full_pages_can_be_asked_for_by_the_control_route(glue: Any, database: str, control: GlueControl) -> None:
    make_tables(glue, database, 3)
    control.ragged_pages(False)
    assert pages_of(glue, database, 2) == [["t0000", "t0001"], ["t0002"]]


def test_databases_are_paged_too(glue: Any, database: str) -> None:
    for number in range(3):
        glue.create_database(DatabaseInput={"Name": f"{database}_{number}"})
    found, token = [], None
    while True:
        answer = glue.get_databases(MaxResults=2, **({"NextToken": token} if token else {}))
        assert len(answer["DatabaseList"]) <= 2
        found += [each["Name"] for each in answer["DatabaseList"] if each["Name"].startswith(database)]
        token = answer.get("NextToken")
        if token is None:
            break
    assert found == [database, *(f"{database}_{number}" for number in range(3))]


def test_a_page_of_more_than_a_hundred_is_refused(shim: str, database: str) -> None:
    # Without the client's own validation, as other clients send it.
    glue = client_for("glue", shim, settings={"parameter_validation": False})
    assert code_of(glue.get_tables, DatabaseName=database, MaxResults=101) == "ValidationException"
    assert code_of(glue.get_databases, MaxResults=0) == "ValidationException"


@pytest.mark.parametrize("spoil", [lambda token: "junk", lambda token: token[:-8] + "AAAAAAA="])
def test_a_token_that_was_not_issued_is_invalid_input(glue: Any, database: str, spoil: Callable[[str], str]) -> None:
    make_tables(glue, database, 3)
    token = glue.get_tables(DatabaseName=database, MaxResults=1)["NextToken"]
    assert code_of(glue.get_tables, DatabaseName=database, NextToken=spoil(token)) == "InvalidInputException"


def test_a_token_of_another_listing_is_invalid_input(glue: Any, database: str) -> None:
    make_tables(glue, database, 3)
    token = glue.get_tables(DatabaseName=database, MaxResults=1)["NextToken"]
    other = f"{database}_other"
    glue.create_database(DatabaseInput={"Name": other})
    assert code_of(glue.get_tables, DatabaseName=other, NextToken=token) == "InvalidInputException"


def test_a_token_survives_the_drop_of_the_table_it_stands_after(glue: Any, database: str) -> None:
    make_tables(glue, database, 5)
    first = glue.get_tables(DatabaseName=database, MaxResults=2)
    glue.delete_table(DatabaseName=database, Name=first["TableList"][-1]["Name"])
    rest = glue.get_tables(DatabaseName=database, NextToken=first["NextToken"])
    assert [table["Name"] for table in rest["TableList"]] == ["t0001", "t0002", "t0003", "t0004"]


def test_versions_start_at_zero_and_a_stale_one_is_refused(glue: Any, database: str) -> None:
    glue.create_table(DatabaseName=database, TableInput={"Name": "t"})
    assert glue.get_table(DatabaseName=database, Name="t")["Table"]["VersionId"] == "0"
    glue.update_table(DatabaseName=database, TableInput={"Name": "t", "Description": "x"}, VersionId="0")
    assert glue.get_table(DatabaseName=database, Name="t")["Table"]["VersionId"] == "1"
    stale = {"DatabaseName": database, "TableInput": {"Name": "t"}, "VersionId": "0"}
    assert code_of(glue.update_table, **stale) == "ConcurrentModificationException"
    assert glue.get_table(DatabaseName=database, Name="t")["Table"]["Description"] == "x"


def test_an_update_without_a_version_is_accepted_and_skip_archive_keeps_no_old_one(glue: Any, database: str) -> None:
    glue.create_table(DatabaseName=database, TableInput={"Name": "t"})
    glue.update_table(DatabaseName=database, TableInput={"Name": "t"})
    glue.update_table(DatabaseName=database, TableInput={"Name": "t"}, SkipArchive=True)
    versions = glue.get_table_versions(DatabaseName=database, TableName="t")["TableVersions"]
    assert [each["VersionId"] for each in versions] == ["0", "2"]


def test_concurrent_increments_with_versions_lose_nothing(shim: str, glue: Any, database: str) -> None:
    glue.create_table(DatabaseName=database, TableInput={"Name": "t", "Parameters": {"n": "0"}})
    barrier = threading.Barrier(4)

    def increment(mine: Any) -> None:
        barrier.wait()
        for _ in range(5):
            while True:
                table = mine.get_table(DatabaseName=database, Name="t")["Table"]
                parameters = {"n": str(int(table["Parameters"]["n"]) + 1)}
                try:
                    mine.update_table(
                        DatabaseName=database,
                        TableInput={"Name": "t", "Parameters": parameters},
                        VersionId=table["VersionId"],
                    )
                    break
                except mine.exceptions.ConcurrentModificationException:
                    continue

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(increment, [client_for("glue", shim) for _ in range(4)]))
    assert glue.get_table(DatabaseName=database, Name="t")["Table"]["Parameters"]["n"] == "20"


def test_a_catalog_id_names_a_catalog_of_its_own_and_an_unknown_one_is_not_found(
    glue: Any, database: str, control: GlueControl
) -> None:
    assert code_of(glue.get_databases, CatalogId="999999999999") == "EntityNotFoundException"
    assert glue.get_database(CatalogId="123456789012", Name=database)["Database"]["CatalogId"] == "123456789012"
    control.make_catalog("210987654321")
    assert code_of(glue.get_database, CatalogId="210987654321", Name=database) == "EntityNotFoundException"
    glue.create_database(CatalogId="210987654321", DatabaseInput={"Name": f"{database}_there"})
    there = glue.get_database(CatalogId="210987654321", Name=f"{database}_there")["Database"]
    assert there["CatalogId"] == "210987654321"
    assert code_of(glue.get_database, Name=f"{database}_there") == "EntityNotFoundException"


def test_a_new_table_has_the_fields_that_the_real_service_fills_in(glue: Any, database: str) -> None:
    glue.create_table(DatabaseName=database, TableInput={"Name": "t"})
    for table in (
        glue.get_table(DatabaseName=database, Name="t")["Table"],
        glue.get_tables(DatabaseName=database)["TableList"][0],
    ):
        assert table["UpdateTime"] == table["CreateTime"]
        assert table["Retention"] == 0
        assert table["CreatedBy"].startswith("arn:aws:iam::123456789012:")
        assert table["IsRegisteredWithLakeFormation"] is False


def session_of(shim: str, account: str = "123456789012") -> dict[str, str]:
    answer = client_for("sts", shim).assume_role(RoleArn=f"arn:aws:iam::{account}:role/reader", RoleSessionName="test")[
        "Credentials"
    ]
    return {
        "aws_access_key_id": answer["AccessKeyId"],
        "aws_secret_access_key": answer["SecretAccessKey"],
        "aws_session_token": answer["SessionToken"],
    }


def test_a_role_in_another_account_lands_in_that_accounts_catalog(shim: str, glue: Any, database: str) -> None:
    theirs = client_for("glue", shim, **session_of(shim, "555566667777"))
    assert code_of(theirs.get_database, Name=database) == "EntityNotFoundException"
    theirs.create_database(DatabaseInput={"Name": f"{database}_theirs"})
    assert glue.get_database(CatalogId="555566667777", Name=f"{database}_theirs")["Database"]["Name"]


def test_an_issued_session_works_until_it_expires(shim: str, control: GlueControl) -> None:
    glue = client_for("glue", shim, **session_of(shim))
    assert "DatabaseList" in glue.get_databases()
    control.expire_sessions()
    assert code_of(glue.get_databases) == "ExpiredTokenException"
    assert "DatabaseList" in client_for("glue", shim, **session_of(shim)).get_databases()


def test_the_time_to_live_of_sessions_can_be_shortened(shim: str, control: GlueControl) -> None:
    glue = client_for("glue", shim, **session_of(shim))
    control.session_seconds(0)
    assert code_of(glue.get_databases) == "ExpiredTokenException"
    control.session_seconds(None)
    assert "DatabaseList" in glue.get_databases()


def test_session_tokens_of_the_user_itself_are_checked_too(shim: str, control: GlueControl) -> None:
    answer = client_for("sts", shim).get_session_token()["Credentials"]
    keys = {"aws_access_key_id": answer["AccessKeyId"], "aws_secret_access_key": answer["SecretAccessKey"]}
    assert "DatabaseList" in client_for("glue", shim, **keys, aws_session_token=answer["SessionToken"]).get_databases()
    assert code_of(client_for("glue", shim, **keys).get_databases) == "UnrecognizedClientException"


@pytest.mark.parametrize("token", ["junk", None])
def test_a_token_that_was_never_issued_is_not_recognized(shim: str, token: str | None) -> None:
    keys = session_of(shim) | ({"aws_session_token": token} if token else {})
    if token is None:
        del keys["aws_session_token"]
    assert code_of(client_for("glue", shim, **keys).get_databases) == "UnrecognizedClientException"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("throttling", "ThrottlingException"),
        ("internal", "InternalServiceException"),
        ("timeout", "OperationTimeoutException"),
    ],
)
def test_an_ordered_error_comes_once_and_the_call_was_not_made(
    glue: Any, control: GlueControl, kind: str, code: str
) -> None:
    name = f"db_{uuid.uuid4().hex[:12]}"
    control.fault(kind, "CreateDatabase")
    assert code_of(glue.create_database, DatabaseInput={"Name": name}) == code
    assert code_of(glue.get_database, Name=name) == "EntityNotFoundException"
    glue.create_database(DatabaseInput={"Name": name})


def test_a_dropped_connection_before_the_call_leaves_it_undone(glue: Any, control: GlueControl) -> None:
    import botocore.exceptions

    name = f"db_{uuid.uuid4().hex[:12]}"
    control.fault("drop-before", "CreateDatabase")
    with pytest.raises((botocore.exceptions.ConnectionClosedError, botocore.exceptions.EndpointConnectionError)):
        glue.create_database(DatabaseInput={"Name": name})
    assert code_of(glue.get_database, Name=name) == "EntityNotFoundException"


def test_a_dropped_connection_after_the_call_leaves_it_done(glue: Any, control: GlueControl) -> None:
    import botocore.exceptions

    name = f"db_{uuid.uuid4().hex[:12]}"
    control.fault("drop-after", "CreateDatabase")
    with pytest.raises((botocore.exceptions.ConnectionClosedError, botocore.exceptions.EndpointConnectionError)):
        glue.create_database(DatabaseInput={"Name": name})
    assert glue.get_database(Name=name)["Database"]["Name"] == name


def test_a_client_that_sends_again_after_a_lost_answer_meets_its_own_table(
    shim: str, control: GlueControl, database: str
) -> None:
    persistent = client_for("glue", shim, attempts=3)
    control.fault("drop-after", "CreateTable")
    call = {"DatabaseName": database, "TableInput": {"Name": "t"}}
    assert code_of(persistent.create_table, **call) == "AlreadyExistsException"
    assert control.calls().count("CreateTable") == 2


def test_a_truncated_body_passes_botocore_as_a_success_with_nothing_in_it(
    glue: Any, control: GlueControl, database: str
) -> None:
    glue.create_table(DatabaseName=database, TableInput={"Name": "t"})
    control.fault("truncated", "GetTable")
    answer = glue.get_table(DatabaseName=database, Name="t")
    assert "Table" not in answer
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_a_delay_outlasts_a_client_that_waits_less(shim: str, control: GlueControl) -> None:
    import botocore.exceptions

    hasty = client_for("glue", shim, settings={"read_timeout": 0.2})
    control.fault("delay", "GetDatabases", seconds=2)
    with pytest.raises(botocore.exceptions.ReadTimeoutError):
        hasty.get_databases()


def test_faults_are_for_the_operation_they_name_and_for_as_many_calls_as_they_say(
    glue: Any, control: GlueControl, database: str
) -> None:
    control.fault("throttling", "GetTables", times=2)
    assert glue.get_database(Name=database)["Database"]["Name"] == database
    assert code_of(glue.get_tables, DatabaseName=database) == "ThrottlingException"
    assert code_of(glue.get_tables, DatabaseName=database) == "ThrottlingException"
    assert glue.get_tables(DatabaseName=database)["TableList"] == []


def test_a_fault_that_is_not_known_is_refused_by_the_control_route(shim: str) -> None:
    from servers.probes import http_json

    status, answer = http_json(f"{shim}/_control/faults", {"faults": [{"kind": "rain"}]}, method="POST")
    assert (status, "one of throttling" in answer["message"]) == (400, True)
    assert http_json(f"{shim}/_control/nothing")[0] == 404


def test_of_many_conditional_writers_exactly_one_wins(shim: str) -> None:
    store = client_for("s3", shim)
    bucket = f"b-{uuid.uuid4().hex[:12]}"
    store.create_bucket(Bucket=bucket)
    writers = [client_for("s3", shim) for _ in range(6)]
    for number in range(5):
        barrier = threading.Barrier(6)

        def put(writer: Any, key: str = f"k{number}", barrier: threading.Barrier = barrier) -> bool:
            import botocore.exceptions

            barrier.wait()
            try:
                writer.put_object(Bucket=bucket, Key=key, Body=b"x", IfNoneMatch="*")
            except botocore.exceptions.ClientError as problem:
                if problem.response["Error"]["Code"] != "PreconditionFailed":
                    raise
                return False
            return True

        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(put, writers)) == 1


def test_moto_is_as_it_was_when_the_shim_is_closed() -> None:
    from moto.glue.models import FakeTable
    from moto.glue.responses import GlueResponse

    from servers.shim.app import Shim

    before = (vars(GlueResponse)["parameters"], GlueResponse.get_tables, FakeTable.__init__)
    Shim().close()
    assert (vars(GlueResponse)["parameters"], GlueResponse.get_tables, FakeTable.__init__) == before


def test_versions_are_paged_too(glue: Any, database: str) -> None:
    glue.create_table(DatabaseName=database, TableInput={"Name": "t"})
    for _ in range(11):
        glue.update_table(DatabaseName=database, TableInput={"Name": "t"})
    found, token = [], None
    while True:
        more = {"NextToken": token} if token else {}
        answer = glue.get_table_versions(DatabaseName=database, TableName="t", MaxResults=5, **more)
        assert len(answer["TableVersions"]) <= 5
        found += [each["VersionId"] for each in answer["TableVersions"]]
        token = answer.get("NextToken")
        if token is None:
            break
    assert found == [str(number) for number in range(12)]


def test_a_session_with_another_sessions_token_is_not_recognized(shim: str) -> None:
    keys = session_of(shim) | {"aws_session_token": session_of(shim)["aws_session_token"]}
    assert code_of(client_for("glue", shim, **keys).get_databases) == "UnrecognizedClientException"


class Crowd:
    """Notes how many are inside at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self.most = 0

    def enter(self) -> None:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        # Long enough for the others to come in, if anything lets them.
        time.sleep(0.02)
        with self._lock:
            self._inside -= 1


def test_glue_handles_one_call_at_a_time(shim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from moto.core.responses import ActionResult
    from moto.glue.responses import GlueResponse

    crowd = Crowd()

    def get_database(_: Any) -> ActionResult:
        crowd.enter()
        return ActionResult({"Database": {"Name": "x"}})

    monkeypatch.setattr(GlueResponse, "get_database", get_database)
    clients = [client_for("glue", shim) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda glue: glue.get_database(Name="x"), clients))
    assert crowd.most == 1


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_the_store_handles_one_write_at_a_time(method: str) -> None:
    from servers.shim.app import Shim

    crowd = Crowd()
    application = Shim.__new__(Shim)
    application._s3_lock = threading.Lock()

    def moto(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        crowd.enter()
        start_response("200 OK", [])
        return [b""]

    application._moto = moto

    def write(_: int) -> None:
        authorization = "AWS4-HMAC-SHA256 Credential=A/20260101/us-east-1/s3/aws4_request, Signature=x"
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": "/bucket/key",
            "HTTP_AUTHORIZATION": authorization,
            "wsgi.input": io.BytesIO(b""),
        }
        list(application(environ, lambda *_: None))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    assert crowd.most == 1
