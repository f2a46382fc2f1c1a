"""The contract's rules that pylance's directory namespace does not have by itself."""

import pytest

import lance_ns
from lance_ns import Namespace
from lance_ns.identifiers import display


def test_creating_an_existing_namespace_is_an_error_that_names_it(ns: Namespace):
    ns.create_namespace("ml")
    with pytest.raises(lance_ns.NamespaceAlreadyExists, match="namespace ml already exists"):
        ns.create_namespace("ml")


def test_exist_ok_keeps_the_properties_of_an_existing_namespace(ns: Namespace):
    ns.create_namespace("ml", properties={"owner": "a"})
    answer = ns.create_namespace("ml", mode="exist_ok", properties={"owner": "b"})
    assert answer.properties == {"owner": "a"}
    assert ns.describe_namespace("ml").properties == {"owner": "a"}


def test_overwrite_replaces_the_properties_of_an_empty_namespace(ns: Namespace):
    ns.create_namespace("ml", properties={"owner": "a"})
    assert ns.create_namespace("ml", mode="Overwrite", properties={"team": "b"}).properties == {"team": "b"}
    assert ns.describe_namespace("ml").properties == {"team": "b"}


@pytest.mark.parametrize("child", ["table", "namespace"])
def test_overwrite_of_a_namespace_that_holds_anything_is_refused_and_changes_nothing(ns: Namespace, child: str):
    ns.create_namespace("ml", properties={"owner": "a"})
    ns.declare_table("ml$t") if child == "table" else ns.create_namespace("ml$t")
    with pytest.raises(lance_ns.NamespaceNotEmpty):
        ns.create_namespace("ml", mode="overwrite")
    assert ns.describe_namespace("ml").properties == {"owner": "a"}


def test_creating_below_a_missing_parent_is_an_error(ns: Namespace):
    with pytest.raises(lance_ns.NamespaceNotFound):
        ns.create_namespace("nope$child")
    with pytest.raises(lance_ns.NamespaceNotFound):
        ns.declare_table("nope$table")


def test_listing_a_missing_namespace_is_an_error_not_an_empty_list(ns: Namespace):
    with pytest.raises(lance_ns.NamespaceNotFound):
        list(ns.list_tables("nope"))
    with pytest.raises(lance_ns.NamespaceNotFound):
        list(ns.list_namespaces("nope"))


def test_dropping_a_missing_namespace_fails_or_skips(ns: Namespace):
    with pytest.raises(lance_ns.NamespaceNotFound):
        ns.drop_namespace("nope")
    ns.drop_namespace("nope", mode="skip")


def test_restrict_refuses_a_namespace_that_is_not_empty(ns: Namespace):
    ns.create_namespace("ml")
    ns.declare_table("ml$t")
    with pytest.raises(lance_ns.NamespaceNotEmpty, match="cascade"):
        ns.drop_namespace("ml")
    assert ns.table_exists("ml$t")


def test_cascade_removes_all_entries_and_no_data(ns: Namespace, rows):
    import lance

    for id in ("ml", "ml$deep", "ml$deep$er"):
        ns.create_namespace(id)
    locations = [ns.write(f"{parent}$t", rows).uri for parent in ("ml", "ml$deep", "ml$deep$er")]
    ns.drop_namespace("ml", behavior="cascade")
    assert list(ns.list_namespaces()) == []
    assert list(ns.list_all_tables()) == []
    assert [lance.dataset(location).count_rows() for location in locations] == [3, 3, 3]


def test_the_root_is_there_and_cannot_be_dropped_or_created(ns: Namespace):
    assert ns.namespace_exists()
    assert ns.describe_namespace().properties == {}
    with pytest.raises(lance_ns.InvalidInput):
        ns.drop_namespace("$", behavior="cascade")
    with pytest.raises(lance_ns.NamespaceAlreadyExists):
        ns.create_namespace("$")
    with pytest.raises(lance_ns.InvalidInput):
        ns.describe_table("")


def test_properties_are_empty_when_none_are_set_and_kept_when_they_are(ns: Namespace):
    ns.create_namespace("plain")
    ns.create_namespace("set", properties={"größe": "ü%/$", "leer": ""})
    ns.declare_table("plain$t")
    ns.declare_table("set$t", properties={"k": "v"})
    assert ns.describe_namespace("plain").properties == {}
    assert ns.describe_namespace("set").properties == {"größe": "ü%/$", "leer": ""}
    assert ns.describe_table("plain$t").properties == {}
    assert ns.describe_table("set$t").properties == {"k": "v"}


def test_properties_of_tables_in_the_root_are_kept_too(ns: Namespace):
    ns.declare_table("top", properties={"k": "v"})
    assert ns.describe_table("top").properties == {"k": "v"}


def test_tables_and_namespaces_share_one_set_of_names(ns: Namespace):
    ns.create_namespace("a")
    ns.create_namespace("a$b")
    ns.declare_table("a$t")
    with pytest.raises(lance_ns.TableAlreadyExists, match="namespace"):
        ns.declare_table("a$b")
    with pytest.raises(lance_ns.NamespaceAlreadyExists, match="table"):
        ns.create_namespace("a$t", mode="exist_ok")


def test_a_given_location_is_not_supported_and_says_so(ns: Namespace):
    with pytest.raises(lance_ns.Unsupported, match="location"):
        ns.declare_table("t", location="/elsewhere")
    assert not ns.table_exists("t")


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_pages_of_every_size_cover_all_names_once(ns: Namespace, limit: int):
    names = [f"t{number}" for number in range(7)]
    for name in names:
        ns.declare_table(name)
    found, token = [], None
    while True:
        page = ns.list_tables_page(limit=limit, page_token=token)
        found += page.tables
        token = page.page_token
        if token is None:
            break
    assert found == names


def test_a_token_survives_a_new_connection(ns: Namespace, root):
    for name in "abc":
        ns.create_namespace(name)
    token = ns.list_namespaces_page(limit=2).page_token
    with lance_ns.connect("dir", root=root) as again:
        assert again.list_namespaces_page(page_token=token).namespaces == ["c"]


@pytest.mark.parametrize("token", ["junk", "a", "t0", "AAAA", "ü"])
def test_a_token_that_is_not_ours_is_refused(ns: Namespace, token: str):
    with pytest.raises(lance_ns.InvalidInput, match="token"):
        ns.list_tables_page(page_token=token)


@pytest.mark.parametrize("limit", [0, -1, True, "5"])
def test_limits_below_one_and_no_numbers_are_refused(ns: Namespace, limit):
    with pytest.raises(lance_ns.InvalidInput):
        ns.list_tables_page(limit=limit)


def test_registering_takes_a_path_below_the_root(ns: Namespace, root, rows):
    import lance

    lance.write_dataset(rows, str(root / "there" / "data"))
    ns.create_namespace("ml")
    answer = ns.register_table("ml$t", "there/data", properties={"k": "v"})
    assert answer.properties == ns.describe_table("ml$t").properties
    assert ns.dataset("ml$t").count_rows() == 3
    with pytest.raises(lance_ns.TableAlreadyExists):
        ns.register_table("ml$t", "there/data")
    with pytest.raises(lance_ns.NamespaceNotFound):
        ns.register_table("nope$t", "there/data")


@pytest.mark.parametrize("location", ["/abs", "../up", "a/../../up", "s3://bucket/x", "file:///x", ".", "./", "/"])
def test_registering_outside_of_the_root_is_refused(ns: Namespace, location: str):
    with pytest.raises(lance_ns.InvalidInput):
        ns.register_table("t", location)
    assert not ns.table_exists("t")


def test_deregistering_keeps_the_data_and_says_where(ns: Namespace, rows):
    import lance

    ns.create_namespace("ml")
    ns.write("ml$t", rows)
    answer = ns.deregister_table("ml$t")
    assert not ns.table_exists("ml$t")
    assert lance.dataset(answer.location).count_rows() == 3
    with pytest.raises(lance_ns.TableNotFound):
        ns.deregister_table("ml$t")


def test_what_is_not_declared_is_unsupported(ns: Namespace):
    ns.declare_table("t")
    for call in (
        lambda: ns.rename_table("t", "u"),
        lambda: ns.alter_table_properties("t", {"a": "b"}),
        lambda: ns.describe_table("t", tag="x"),
        lambda: ns.describe_table("t", branch="x"),
        lambda: ns.describe_table("t", vend_credentials=True),
        lambda: ns.declare_table("u", vend_credentials=True),
        lambda: ns.register_table("u", "x", mode="overwrite"),
    ):
        with pytest.raises(lance_ns.Unsupported):
            call()
    assert list(ns.list_tables()) == ["t"]


def test_errors_name_backend_operation_and_identifier(ns: Namespace):
    with pytest.raises(lance_ns.TableNotFound) as caught:
        ns.describe_table("ml$nope")
    error = caught.value
    assert (error.backend, error.operation, error.identifier) == ("dir", "describe_table", ("ml", "nope"))
    assert str(error) == f"dir: table {display(('ml', 'nope'))} not found (TableNotFound, 4)"
