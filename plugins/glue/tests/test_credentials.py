"""Who asks: credentials from where AWS clients look, roles, sessions that end; and what logs show of them."""

import itertools
import json
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from lance_ns import errors as ours
from lance_ns_conformance.scenarios.glue import entry, refused
from lance_ns_conformance.stand_in import Reply

ROLE = "arn:aws:iam::111122223333:role/lake"
BARE = {"access_key_id": None, "secret_access_key": None}


# --- credentials -------------------------------------------------------------------------------------------------


def test_credentials_and_region_are_found_where_aws_clients_look(service, monkeypatch, holding):
    glue = service(holding("docs"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKENVIRONMENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token-of-the-environment")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    glue.connect(**BARE, region=None).describe_table("ml$docs")
    assert glue.keys == ["AKENVIRONMENT"]
    assert "/ap-south-1/glue/" in glue.requests[0].headers["Authorization"]
    assert glue.requests[0].headers["X-Amz-Security-Token"] == "token-of-the-environment"


def test_a_profile_of_the_aws_files_gives_credentials_and_region(service, tmp_path, holding):
    (tmp_path / "aws-credentials").write_text("[lake]\naws_access_key_id=AKPROFILE\naws_secret_access_key=secret\n")
    (tmp_path / "aws-config").write_text("[profile lake]\nregion=sa-east-1\n")
    glue = service(holding("docs"))
    glue.connect(**BARE, region=None, profile="lake").describe_table("ml$docs")
    assert glue.keys == ["AKPROFILE"]
    assert "/sa-east-1/glue/" in glue.requests[0].headers["Authorization"]


def test_credentials_that_were_renewed_in_their_file_are_read_again_when_they_expire(service, tmp_path, holding):
    def put(key: str) -> None:
        (tmp_path / "aws-credentials").write_text(f"[default]\naws_access_key_id={key}\naws_secret_access_key=s\n")

    expired: list[str] = []

    def answer(operation, asked):
        return refused("ExpiredTokenException") if glue.keys[-1] in expired else holding("docs")(operation, asked)

    glue = service(answer)
    put("AKOLD")
    ns = glue.connect(**BARE)
    ns.describe_table("ml$docs")
    expired.append("AKOLD")
    put("AKNEW")
    ns.describe_table("ml$docs")
    assert glue.keys == ["AKOLD", "AKOLD", "AKNEW"]
    expired.append("AKNEW")
    with pytest.raises(ours.Unauthenticated):
        ns.describe_table("ml$docs")
    assert glue.keys[3:] == ["AKNEW", "AKNEW"]


def test_static_credentials_that_expired_are_not_tried_again(service):
    glue = service(lambda *_: refused("ExpiredTokenException"))
    with pytest.raises(ours.Unauthenticated, match="credentials"):
        glue.connect(session_token="over").describe_table("ml$docs")
    assert glue.operations == ["GetTable"]


class Sts:
    """Glue with an STS beside it, whose roles live for some seconds."""

    def __init__(self, service, catalog) -> None:
        self.seconds = 3600.0
        self.catalog = catalog
        self.number = itertools.count(1)
        self.ended: set[str] = set()
        self.service = service(self)

    def __call__(self, operation: str, asked) -> Reply:
        if operation != "AssumeRole":
            return (
                refused("ExpiredTokenException")
                if self.service.keys[-1] in self.ended
                else self.catalog(operation, asked)
            )
        number = next(self.number)
        until = (datetime.now(UTC) + timedelta(seconds=self.seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Reply(
            body=f"<AssumeRoleResponse xmlns='https://sts.amazonaws.com/doc/2011-06-15/'><AssumeRoleResult><Credentials>"
            f"<AccessKeyId>AKROLE{number}</AccessKeyId><SecretAccessKey>secret-of-role-{number}</SecretAccessKey>"
            f"<SessionToken>token-of-role-{number}</SessionToken><Expiration>{until}</Expiration>"
            f"</Credentials></AssumeRoleResult></AssumeRoleResponse>"
        )

    def connect(self, **properties):
        return self.service.connect(role_arn=ROLE, sts_endpoint=self.service.url, **properties)


@pytest.fixture
def sts(service, holding) -> Sts:
    return Sts(service, holding("docs"))


def test_a_role_is_assumed_once_as_configured_and_calls_are_made_as_that_role(sts):
    ns = sts.connect(external_id="told-us", role_session_name="nightly")
    for _ in range(3):
        ns.describe_table("ml$docs")
    (_, asked), *_ = sts.service.asked
    assert (asked["RoleArn"], asked["ExternalId"], asked["RoleSessionName"]) == (ROLE, "told-us", "nightly")
    assert sts.service.keys == ["AKSTATIC", "AKROLE1", "AKROLE1", "AKROLE1"]
    assert sts.service.requests[-1].headers["X-Amz-Security-Token"] == "token-of-role-1"


def test_a_role_is_assumed_again_before_its_session_ends(sts):
    sts.seconds = 300
    ns = sts.connect()
    ns.describe_table("ml$docs")
    sts.seconds = 3600
    ns.describe_table("ml$docs")
    ns.describe_table("ml$docs")
    assert sts.service.keys == ["AKSTATIC", "AKROLE1", "AKSTATIC", "AKROLE2", "AKROLE2"]


def test_a_role_whose_session_was_ended_early_is_assumed_again_once(sts):
    ns = sts.connect()
    ns.describe_table("ml$docs")
    sts.ended.add("AKROLE1")
    ns.describe_table("ml$docs")
    assert sts.service.keys == ["AKSTATIC", "AKROLE1", "AKROLE1", "AKSTATIC", "AKROLE2"]
    sts.ended |= {"AKROLE2", "AKROLE3"}
    with pytest.raises(ours.Unauthenticated):
        ns.describe_table("ml$docs")


def test_a_role_that_may_not_be_assumed_is_permission_denied(service):
    denied = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>"
    glue = service(lambda operation, asked: Reply(403, denied))
    with pytest.raises(ours.PermissionDenied, match="not you"):
        glue.connect(role_arn=ROLE, sts_endpoint=glue.url).describe_table("ml$docs")


def test_credentials_reach_the_storage_only_when_asked_for(service, holding):
    glue = service(holding("docs"))
    assert glue.connect().describe_table("ml$docs").storage_options == {}
    given = {"storage.aws_region": "eu-west-1"}
    found = glue.connect(storage_credentials=True, session_token="token", **given).describe_table("ml$docs")
    assert found.storage_options == {
        "aws_region": "eu-west-1",
        "aws_access_key_id": "AKSTATIC",
        "aws_secret_access_key": "static-secret",
        "aws_session_token": "token",
    }
    assert "static-secret" not in repr(found)
    own = {"storage.access_key_id": "AKSTORE", "storage.secret_access_key": "of the store"}
    kept = glue.connect(storage_credentials=True, **own).declare_table("ml$new").storage_options
    assert kept == {"access_key_id": "AKSTORE", "secret_access_key": "of the store"}


def test_credentials_of_a_role_tell_the_storage_when_to_ask_for_new_ones(sts):
    ns = sts.connect(storage_credentials=True)
    before = datetime.now(UTC)
    options = ns.describe_table("ml$docs").storage_options
    assert options["aws_session_token"] == "token-of-role-1"
    until = datetime.fromtimestamp(int(options["expires_at_millis"]) / 1000, UTC)
    assert before < until < before + timedelta(hours=1)


def test_time_outs_retries_and_pool_are_what_the_properties_say_and_not_botocores_defaults(service, monkeypatch):
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "9")
    monkeypatch.setenv("AWS_RETRY_MODE", "legacy")
    ns = service(lambda *_: Reply()).connect(connect_timeout=2, read_timeout=3, max_retries=4, max_connections=5)
    settings = ns._implementation._glue._connected().glue.meta.config
    assert (settings.connect_timeout, settings.read_timeout, settings.max_pool_connections) == (2, 3, 5)
    assert settings.retries == {"mode": "standard", "total_max_attempts": 5}


# --- threads, forks, logs ----------------------------------------------------------------------------------------


def test_threads_that_come_first_together_share_one_client_and_one_role(sts):
    ns = sts.connect()
    start = threading.Barrier(8)

    def describe(_: int) -> str:
        start.wait()
        return ns.describe_table("ml$docs").location

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(describe, range(8))) == {"s3://lake/ml/docs"}
    assert sts.service.operations.count("AssumeRole") == 1


def test_a_forked_child_has_a_client_of_its_own_and_gets_right_answers(service, holding):
    glue = service(holding("docs"))
    ns = glue.connect()
    parents = ns._implementation._glue._connected()
    ns.describe_table("ml$docs")
    child = os.fork()
    if child == 0:
        try:
            ns._implementation._glue._connected()
            ours_ = ns._implementation._glue._connected() is not parents
            right = ns.describe_table("ml$docs").location == "s3://lake/ml/docs"
        finally:
            os._exit(0 if ours_ and right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_debug_log_of_botocore_shows_no_secret(sts, caplog):
    with caplog.at_level(logging.DEBUG):
        sts.connect(session_token="token-of-the-source", storage_credentials=True).describe_table("ml$docs")
    text = "\n".join(caplog.messages)
    assert "x-amz-security-token:***" in text
    assert "<SessionToken>***" in text
    for secret in ("token-of-the-source", "static-secret", "secret-of-role-1", "token-of-role-1"):
        assert secret not in text


@pytest.mark.parametrize(
    "shown",
    [
        "x-amz-security-token:{}",
        "'X-Amz-Security-Token': b'{}', 'Authorization': b'AWS4'",
        "<SecretAccessKey>{}</SecretAccessKey>",
        'b\'{{"roleCredentials":{{"secretAccessKey":"{}","expiration":1}}}}\'',
        "{{'x-amz-sso_bearer_token': '{}'}}",
        '{{\\"SessionToken\\": \\"{}\\"}}',
        "WebIdentityToken={}&Action=AssumeRoleWithWebIdentity",
    ],
)
def test_a_secret_is_taken_out_of_whatever_form_a_log_gives_it(shown, caplog):
    from lance_ns_glue.logs import hide_secrets

    hide_secrets()
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("botocore.parsers").debug("Response body:\n%s", shown.format("wJ/alr+UtnFEMI=="))
    assert "wJ/alr" not in caplog.text
    assert "***" in caplog.text


def test_a_log_without_secrets_is_left_as_it_is(caplog):
    from lance_ns_glue.logs import hide_secrets

    hide_secrets()
    body = json.dumps(entry("docs"))
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("botocore.parsers").debug("Response body:\n%s", body)
    assert caplog.messages == [f"Response body:\n{body}"]
