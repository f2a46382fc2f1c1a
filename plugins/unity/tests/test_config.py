"""The properties of a connection, their defaults and units."""

import os

import pytest

import lance_ns
from lance_ns.config import Properties, describe, read
from lance_ns.errors import InvalidInput
from lance_ns_unity.backend import UnityNamespace
from lance_ns_unity.config import UnityConfig


def config(**given: object) -> UnityConfig:
    return read(
        UnityConfig, Properties({"endpoint": "http://localhost:8080", "catalog": "c", **given}), backend="unity"
    )


def test_time_outs_are_seconds_and_ten_and_sixty_unless_given():
    infos = {info.name: info for info in describe(UnityConfig)}
    assert (infos["connect_timeout"].type, infos["connect_timeout"].default) == ("number of seconds", "10.0")
    assert (infos["read_timeout"].type, infos["read_timeout"].default) == ("number of seconds", "60.0")
    settings = UnityNamespace(config()).client._settings
    assert (settings.connect_seconds, settings.read_seconds) == (10.0, 60.0)
    settings = UnityNamespace(config(connect_timeout="2", read_timeout=0.5)).client._settings
    assert (settings.connect_seconds, settings.read_seconds) == (2.0, 0.5)


@pytest.mark.parametrize("given", [0, -1, "soon"])
def test_a_time_out_that_is_none_is_refused(given):
    with pytest.raises(InvalidInput, match="read_timeout"):
        config(read_timeout=given)


def test_a_failed_call_is_sent_again_three_times_unless_told_otherwise():
    assert UnityNamespace(config()).client._settings.retries == 3
    assert UnityNamespace(config(max_retries=0)).client._settings.retries == 0


def test_endpoint_and_catalog_are_required():
    with pytest.raises(InvalidInput, match="'endpoint', 'catalog'"):
        lance_ns.connect("unity")


def test_the_usual_path_and_root():
    assert config().api_path == "/api/2.1/unity-catalog"
    assert config().root == os.getcwd()  # noqa: PTH109  # the property is a string


def test_the_token_is_a_secret():
    assert "auth_token" in {info.name for info in describe(UnityConfig) if info.secret}
    assert "s3cr3t" not in repr(config(auth_token="s3cr3t"))
