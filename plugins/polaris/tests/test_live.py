"""A Polaris server and other clients of it: what we declare they see, what they make we tell apart."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import lance
import pyarrow as pa
import pytest
from small_server import Asked, Reply, SmallServer

import lance_ns
from lance_ns import errors
from lance_ns_polaris.conformance import PolarisNative

pytestmark = [pytest.mark.live("polaris"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture
def properties(live_server) -> dict[str, Any]:
    given = live_server("polaris").properties
    del given["backend"]
    return given


@pytest.fixture
def ns(properties) -> Iterator[lance_ns.Namespace]:
    with lance_ns.connect("polaris", properties) as connection:
        yield connection


@pytest.fixture
def plain(properties) -> Iterator[PolarisNative]:
    """A client of a few plain HTTP calls: the only kind there is for generic tables."""
    client = PolarisNative(properties)
    yield client
    client.close()


@pytest.fixture
def pyiceberg(properties):
    rest = pytest.importorskip("pyiceberg.catalog.rest", reason="pyiceberg is the witness")
    return rest.RestCatalog(
        "witness",
        uri=f"{properties['endpoint']}/api/catalog",
        warehouse="lance",
        credential=properties["credential"],
        scope="PRINCIPAL_ROLE:ALL",
        **{"header.X-Iceberg-Access-Delegation": ""},  # catalogs on files vend no credentials
    )


@pytest.fixture
def space(ns) -> Iterator[tuple[str, ...]]:
    id = ("lance", f"w{uuid4().hex[:8]}")
    ns.create_namespace(id)
    yield id
    for child in list(ns.list_namespaces(id)):
        ns.drop_namespace((*id, child))
    for table in list(ns.list_tables(id)):
        ns.deregister_table((*id, table))
    ns.drop_namespace(id)


def test_other_clients_see_our_namespaces_and_tables_and_no_longer_after_deregistering(ns, space, plain, pyiceberg):
    location = str(ns.declare_table((*space, "t"), properties={"owner": "ann", "doc": "words"}).location)
    ns.create_namespace((*space, "inner"), properties={"team": "ml"})
    assert (space[1],) in pyiceberg.list_namespaces()
    assert pyiceberg.list_namespaces(space[1]) == [(space[1], "inner")]
    assert pyiceberg.load_namespace_properties((space[1], "inner"))["team"] == "ml"
    assert plain.load((*space, "t")) == {
        "name": "t",
        "format": "lance",
        "base-location": location,
        "doc": "words",
        "properties": {"owner": "ann", "table_type": "lance"},
    }
    assert pyiceberg.list_tables(space[1]) == [], "a Lance table is no Iceberg table"
    ns.deregister_table((*space, "t"))
    assert not plain.holds((*space, "t"))


def test_tables_of_other_clients_are_not_listed_and_never_touched(ns, space, plain, pyiceberg):
    plain.make_generic((*space, "delta"), format="delta")
    pyiceberg.create_table((space[1], "iceberg"), pa.schema([("v", pa.int64())]))
    ns.declare_table((*space, "ours"))
    assert list(ns.list_tables(space)) == ["ours"]
    for name in ("delta", "iceberg"):
        assert not ns.table_exists((*space, name))
        for call in (ns.describe_table, ns.deregister_table):
            with pytest.raises(errors.InvalidInput):
                call((*space, name))
        with pytest.raises(errors.TableAlreadyExists):
            ns.declare_table((*space, name))
        with pytest.raises(errors.NamespaceNotEmpty):
            ns.drop_namespace(space)
        assert plain.holds((*space, name))
        plain.remove((*space, name))


def test_what_another_client_makes_as_lance_is_ours_and_what_it_drops_keeps_its_data(ns, space, plain, tmp_path):
    plain.make_lance((*space, "theirs"), f"{tmp_path}/theirs", "LANCE")
    ns.write((*space, "theirs"), [{"v": 1}])
    assert list(ns.list_tables(space)) == ["theirs"]
    assert ns.dataset((*space, "theirs")).count_rows() == 1
    plain.remove((*space, "theirs"))
    with pytest.raises(errors.TableNotFound):
        ns.describe_table((*space, "theirs"))
    assert lance.dataset(f"{tmp_path}/theirs").count_rows() == 1


def test_without_root_a_table_lies_where_the_catalog_keeps_its_namespace(properties, space):
    warehouse = Path(properties.pop("root"))
    with lance_ns.connect("polaris", properties) as rootless:
        rootless.write((*space, "t"), [{"v": 1}])
        assert rootless.describe_table((*space, "t")).location == f"file://{warehouse}/{space[1]}/t"
        assert rootless.dataset((*space, "t")).count_rows() == 1


def test_a_principal_without_privileges_is_denied_and_never_told_that_there_is_nothing(ns, space, live_server):
    ns.declare_table((*space, "t"))
    given = dict(live_server("polaris").profiles["polaris-stranger-live"])
    del given["backend"]
    with lance_ns.connect("polaris", given) as stranger:
        for call in (
            lambda: stranger.create_namespace((*space, "inner")),
            lambda: list(stranger.list_namespaces("lance")),
            lambda: list(stranger.list_namespaces(space)),
            lambda: stranger.describe_namespace(space),
            lambda: stranger.namespace_exists(space),
            lambda: stranger.drop_namespace(space, mode="skip"),
            lambda: stranger.declare_table((*space, "u")),
            lambda: stranger.register_table((*space, "u"), "/u"),
            lambda: list(stranger.list_tables(space)),
            lambda: stranger.describe_table((*space, "t")),
            lambda: stranger.table_exists((*space, "t")),
            lambda: stranger.deregister_table((*space, "t")),
        ):
            with pytest.raises(errors.PermissionDenied):
                call()
    assert list(ns.list_tables(space)) == ["t"]


@pytest.mark.parametrize("given", [{"credential": "root:wrong"}, {"auth_token": "garbage"}, {"realm": "ELSEWHERE"}])
def test_who_is_not_known_is_unauthenticated_and_never_told_that_there_is_nothing(properties, space, given):
    with lance_ns.connect("polaris", properties, **given) as unknown:
        for call in (
            lambda: unknown.namespace_exists(space),
            lambda: unknown.table_exists((*space, "t")),
            lambda: list(unknown.list_tables(space)),
            lambda: unknown.drop_namespace(space, mode="skip"),
        ):
            with pytest.raises(errors.Unauthenticated):
                call()


def test_an_endpoint_with_the_path_of_its_api_is_an_error_and_nothing_is_called_missing(properties, space):
    properties["endpoint"] += "/api/catalog"
    properties["auth_token"] = "any"
    with lance_ns.connect("polaris", properties) as wrong:
        for call in (lambda: wrong.namespace_exists(space), lambda: wrong.drop_namespace(space, mode="skip")):
            with pytest.raises(errors.Internal, match="without /api/catalog"):
                call()


def test_the_realm_can_be_named(properties, space):
    with lance_ns.connect("polaris", properties, realm="POLARIS") as named:
        assert named.namespace_exists(space)


def test_sixteen_threads_lose_nothing_while_tokens_expire(properties, ns, space):
    """A token server of our own gives out what is refused, then what expires at once, then what lasts."""
    good = PolarisNative(properties)
    real = good._headers["Authorization"].removeprefix("Bearer ")
    given_out: list[str] = []

    def login(_: Asked) -> Reply:
        number = len(given_out)
        given_out.append("refused" if number % 3 == 0 else real)
        return Reply(body={"access_token": given_out[-1], "token_type": "bearer", "expires_in": 1})

    names = [f"t{number:03}" for number in range(160)]
    with SmallServer(login) as server:
        uri = f"{server.url}/tokens"
        with lance_ns.connect("polaris", properties, oauth2_server_uri=uri) as busy, ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda name: busy.declare_table((*space, name)), names))
            assert list(busy.list_tables(space)) == names
            for _ in range(200):  # as often as a fast server needs for tokens to expire meanwhile
                found = list(pool.map(lambda name: busy.describe_table((*space, name)).table, names))
                assert found == names
                if given_out.count("refused") > 1:
                    break
            list(pool.map(lambda name: busy.deregister_table((*space, name)), names))
    assert given_out.count("refused") > 1, "no token expired in the middle"
    assert list(ns.list_tables(space)) == []


TABLE_NAMES = [
    *("a b", "a%b", "%2F", "%1F", "%41", "a/b", "/", "//", "a;b=c", "?", "#", "a?b=c", "+", "&", "\\", "..\\x"),
    *(" a", "a ", "日本", "😀", "e\u0301", "\u00e9", "...", ".a", "x" * 255, "$", "namespaces", "generic-tables"),
]


def test_tables_of_any_name_are_declared_found_listed_and_deregistered(ns, space):
    for name in TABLE_NAMES:
        ns.declare_table((*space, name), properties={"name": name})
    assert list(ns.list_tables(space)) == sorted(TABLE_NAMES)
    for name in TABLE_NAMES:
        assert ns.describe_table((*space, name)).properties["name"] == name
    for name in TABLE_NAMES:
        ns.deregister_table((*space, name))
        assert not ns.table_exists((*space, name))


@pytest.mark.parametrize("name", [*TABLE_NAMES, '"', "`", "<x>", "{x}", "|", "^", "\u00a0", "a.b", "a:b", "~"])
def test_a_namespace_of_any_name_is_refused_or_found_again(ns, space, name):
    id = (*space, name)
    with suppress(errors.InvalidInput):
        ns.create_namespace(id, properties={"name": name})
        assert ns.describe_namespace(id).properties["name"] == name
        assert list(ns.list_namespaces(space)) == [name]
        assert list(ns.list_tables(id)) == []
        ns.drop_namespace(id)
    assert list(ns.list_namespaces(space)) == []
