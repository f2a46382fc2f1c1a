"""The properties of a connection, their defaults and units."""

import pytest

import lance_ns
from lance_ns.config import Properties, describe, read
from lance_ns.errors import InvalidInput
from lance_ns_polaris.backend import PolarisNamespace
from lance_ns_polaris.config import PolarisConfig


def config(**given: object) -> PolarisConfig:
    return read(PolarisConfig, Properties({"endpoint": "http://localhost:8181", **given}), backend="polaris")


def test_time_outs_are_milliseconds_and_ten_and_thirty_seconds_unless_given():
    infos = {info.name: info for info in describe(PolarisConfig)}
    assert (infos["connect_timeout"].type, infos["connect_timeout"].default) == (
        "whole number of milliseconds",
        "10000",
    )
    assert (infos["read_timeout"].type, infos["read_timeout"].default) == ("whole number of milliseconds", "30000")
    settings = PolarisNamespace(config()).client._settings
    assert (settings.connect_seconds, settings.read_seconds) == (10.0, 30.0)
    settings = PolarisNamespace(config(connect_timeout="250", read_timeout=1500)).client._settings
    assert (settings.connect_seconds, settings.read_seconds) == (0.25, 1.5)


def test_a_failed_call_is_sent_again_three_times_unless_told_otherwise():
    assert PolarisNamespace(config()).client._settings.retries == 3
    assert PolarisNamespace(config(max_retries=0)).client._settings.retries == 0


def test_the_endpoint_is_required():
    with pytest.raises(InvalidInput, match="endpoint"):
        lance_ns.connect("polaris")


def test_a_credential_without_a_secret_is_refused_and_not_shown():
    with pytest.raises(InvalidInput) as refused:
        lance_ns.connect("polaris", endpoint="http://localhost:8181", credential="only-an-id")
    assert "only-an-id" not in str(refused.value)


def test_the_credential_is_a_secret():
    assert {info.name for info in describe(PolarisConfig) if info.secret} >= {"credential", "auth_token"}
    assert "s3cr3t" not in repr(config(credential="root:s3cr3t"))
