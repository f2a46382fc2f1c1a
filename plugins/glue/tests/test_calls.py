"""What is sent: which calls, how often, how pages are followed, and what happens when an answer is lost."""

import itertools
from pathlib import Path

import pytest

from lance_ns import errors as ours
from lance_ns_conformance.scenarios.glue import entry, refused
from lance_ns_conformance.stand_in import Reply

# --- how many calls ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "operations"),
    [
        (lambda ns: ns.describe_namespace("ml"), ["GetDatabase"]),
        (lambda ns: list(ns.list_namespaces()), ["GetDatabases"]),
        (lambda ns: ns.namespace_exists("ml"), ["GetDatabase"]),
        (lambda ns: ns.declare_table("ml$new"), ["CreateTable"]),
        (lambda ns: ns.register_table("ml$new", "s3://there"), ["CreateTable"]),
        (
            lambda ns: ns.register_table("ml$docs", "s3://there", mode="overwrite"),
            ["CreateTable", "GetTable", "UpdateTable"],
        ),
        (lambda ns: ns.describe_table("ml$docs"), ["GetTable"]),
        (lambda ns: ns.table_exists("ml$absent"), ["GetTable"]),
        (lambda ns: list(ns.list_tables("ml")), ["GetTables"]),
        (lambda ns: ns.alter_table_properties("ml$docs", {"a": "b"}), ["GetTable", "UpdateTable"]),
        (lambda ns: ns.alter_table_properties("ml$docs", {}, removals=["absent"]), ["GetTable"]),
        (lambda ns: ns.deregister_table("ml$docs"), ["GetTable", "DeleteTable"]),
        (
            lambda ns: ns.drop_namespace("ml", behavior="cascade"),
            ["GetDatabase", "GetTables", "BatchDeleteTable", "GetTables", "DeleteDatabase"],
        ),
    ],
)
def test_an_operation_makes_no_more_calls_than_it_needs(call, operations, service, holding):
    glue = service(holding("docs"))
    call(glue.connect())
    assert glue.operations == operations


def test_a_root_spares_the_look_at_the_database_and_without_one_its_location_is_the_base(service, holding):
    catalog = holding()
    glue = service(catalog)
    assert glue.connect().declare_table("ml$a").location == "s3://lake/ml/a"
    catalog.database["LocationUri"] = "s3://base/ml.db/"
    assert glue.connect(root=None).declare_table("ml$b").location == "s3://base/ml.db/b"
    del catalog.database["LocationUri"]
    assert glue.connect(root=None).declare_table("ml$c").location == f"{Path.cwd()}/ml/c"
    assert glue.operations == ["CreateTable", *["GetDatabase", "CreateTable"] * 2]


def test_every_call_names_the_catalog_if_one_is_configured(service, holding):
    glue = service(holding("docs"))
    glue.connect(catalog_id="444455556666").drop_namespace("ml", behavior="cascade")
    assert {asked["CatalogId"] for _, asked in glue.asked} == {"444455556666"}


# --- pages -------------------------------------------------------------------------------------------------------


def test_documented_pages_are_followed_to_the_last_and_only_lance_tables_are_kept(service, documented):
    pages = documented("pages")
    tokens = [None, *(page["NextToken"] for page in pages[:-1])]
    glue = service(lambda operation, asked: Reply(body=pages[tokens.index(asked.get("NextToken"))]))
    assert list(glue.connect().list_tables("ml")) == ["docs", "images"]
    assert [asked.get("NextToken") for _, asked in glue.asked] == tokens


def test_a_long_listing_is_fetched_a_page_at_a_time_and_no_further_than_it_is_read(service, holding):
    glue = service(holding(*(f"t{number:04}" for number in range(1000))))
    names = glue.connect().list_tables("ml")
    first = list(itertools.islice(names, 100))
    assert first == [f"t{number:04}" for number in range(100)]
    assert glue.operations == ["GetTables"]
    assert len(list(names)) == 900
    assert len(glue.operations) == 10
    assert {asked["MaxResults"] for _, asked in glue.asked} == {100}


@pytest.mark.parametrize(("limit", "size"), [(1, 20), (7, 230), (100, 230), (101, 230), (250, 230)])
def test_a_page_holds_at_most_what_was_asked_for_and_nothing_is_lost_between_pages(limit, size, service, holding):
    glue = service(holding(*(f"t{number:03}" for number in range(size))))
    ns = glue.connect()
    names, token = [], None
    while True:
        page = ns.list_tables_page("ml", limit=limit, page_token=token)
        assert len(page.tables) <= limit
        names += page.tables
        token = page.page_token
        if token is None:
            break
    assert names == [f"t{number:03}" for number in range(size)]
    assert max(asked["MaxResults"] for _, asked in glue.asked) <= 100


@pytest.mark.parametrize("limit", [1, 2, 5, 6])
def test_a_service_that_ignores_the_size_of_pages_is_cut_to_size(limit, service):
    names = ["e", "a", "d", "b", "c"]
    glue = service(lambda operation, asked: Reply(body={"TableList": [entry(name) for name in names]}))
    ns = glue.connect()
    found, token = [], None
    while True:
        page = ns.list_tables_page("ml", limit=limit, page_token=token)
        assert len(page.tables) <= limit
        found += page.tables
        token = page.page_token
        if token is None:
            break
    assert sorted(found) == sorted(names)


def test_restrict_follows_empty_pages_before_it_calls_a_database_empty(service, holding):
    pages = {None: ([], "1"), "1": ([], "2"), "2": ([entry("docs")], None)}

    def answer(operation, asked):
        if operation == "GetTables":
            tables, token = pages[asked.get("NextToken")]
            return Reply(body={"TableList": tables, **({"NextToken": token} if token else {})})
        return holding()(operation, asked)

    glue = service(answer)
    with pytest.raises(ours.NamespaceNotEmpty):
        glue.connect().drop_namespace("ml")
    assert "DeleteDatabase" not in glue.operations


# --- cascade -----------------------------------------------------------------------------------------------------


def test_a_cascade_deletes_in_batches_of_a_hundred_and_the_database_last(service, holding):
    catalog = holding(*(f"t{number:03}" for number in range(250)))
    catalog.tables["t007"]["TableType"] = "VIRTUAL_VIEW"
    glue = service(catalog)
    glue.connect().drop_namespace("ml", behavior="cascade")
    batches = [len(asked["TablesToDelete"]) for operation, asked in glue.asked if operation == "BatchDeleteTable"]
    assert batches == [100, 100, 50]
    assert (catalog.tables, catalog.database) == ({}, None)
    assert glue.operations[-1] == "DeleteDatabase"


def test_a_cascade_that_cannot_delete_a_table_leaves_the_database(service, holding):
    catalog = holding("docs")
    detail = {"ErrorCode": "AccessDeniedException", "ErrorMessage": "not yours"}
    catalog.batch_delete_table = lambda asked: Reply(body={"Errors": [{"TableName": "docs", "ErrorDetail": detail}]})
    glue = service(catalog)
    with pytest.raises(ours.PermissionDenied, match="not yours"):
        glue.connect().drop_namespace("ml", behavior="cascade")
    assert "DeleteDatabase" not in glue.operations


def test_a_cascade_over_tables_that_do_not_go_away_ends_with_an_error(service, holding):
    catalog = holding("docs")
    catalog.batch_delete_table = lambda asked: Reply(body={})
    glue = service(catalog)
    with pytest.raises(ours.Internal, match="docs"):
        glue.connect().drop_namespace("ml", behavior="cascade")
    assert "DeleteDatabase" not in glue.operations


# --- lost answers ------------------------------------------------------------------------------------------------

LOST = refused("InternalServiceException", status=500)
NOT_MADE = refused("ThrottlingException")


@pytest.mark.parametrize("retries", [0, 1])
@pytest.mark.parametrize("done", [True, False], ids=["done", "not-done"])
@pytest.mark.parametrize(
    ("operation", "call", "is_done"),
    [
        ("CreateTable", lambda ns: ns.declare_table("ml$new"), lambda catalog: "new" in catalog.tables),
        ("DeleteTable", lambda ns: ns.deregister_table("ml$docs"), lambda catalog: "docs" not in catalog.tables),
        (
            "DeleteDatabase",
            lambda ns: ns.drop_namespace("ml", behavior="cascade"),
            lambda catalog: not catalog.database,
        ),
        (
            "UpdateTable",
            lambda ns: ns.alter_table_properties("ml$docs", {"a": "b"}),
            lambda catalog: catalog.tables["docs"]["Parameters"].get("a") == "b",
        ),
    ],
    ids=["create", "delete", "drop", "update"],
)
def test_a_change_whose_answer_is_lost_is_done_or_fails_and_is_never_called_a_conflict(
    operation, call, is_done, done, retries, service, holding
):
    catalog = holding("docs")
    catalog.faults = [(operation, done, LOST)]
    ns = service(catalog).connect(max_retries=retries)
    try:
        call(ns)
    except ours.Internal:
        assert not done
        assert retries == 0
        assert not is_done(catalog)
    else:
        assert is_done(catalog)


def test_a_namespace_whose_creation_was_answered_by_silence_is_read_back(service, holding):
    catalog = holding()
    catalog.database = None
    catalog.faults = [("CreateDatabase", True, LOST)]
    service(catalog).connect(max_retries=1).create_namespace("ml", properties={"owner": "ann", "location": "s3://x"})
    assert catalog.database["Parameters"] == {"owner": "ann"}


def test_a_table_that_somebody_else_made_meanwhile_is_in_the_way_even_at_the_same_location(service, holding):
    catalog = holding()
    glue = service(catalog)
    glue.connect().declare_table("ml$new")
    catalog.faults = [("CreateTable", False, LOST)]
    with pytest.raises(ours.TableAlreadyExists):
        glue.connect(max_retries=1).declare_table("ml$new")


def test_a_call_that_was_only_throttled_before_is_not_read_back(service, holding):
    catalog = holding("docs")
    catalog.faults = [("CreateTable", False, NOT_MADE)]
    glue = service(catalog)
    with pytest.raises(ours.TableAlreadyExists):
        glue.connect(max_retries=1).declare_table("ml$docs")
    assert glue.operations == ["CreateTable", "CreateTable"]


def test_a_page_for_people_is_no_success_even_where_nothing_is_answered(service):
    glue = service(lambda operation, asked: Reply(body="<html>sign in</html>"))
    for call in (lambda ns: ns.create_namespace("ml"), lambda ns: ns.declare_table("ml$t")):
        with pytest.raises(ours.Internal, match="endpoint"):
            call(glue.connect())


def test_what_cannot_be_read_back_fails_with_the_first_error(service, holding):
    catalog = holding()
    catalog.faults = [("CreateTable", True, LOST), ("GetTable", False, refused("AccessDeniedException"))]
    with pytest.raises(ours.Internal):
        service(catalog).connect().declare_table("ml$new")


def test_a_call_is_sent_again_as_often_as_max_retries_says(service):
    glue = service(lambda operation, asked: LOST)
    for retries in (0, 2):
        with pytest.raises(ours.Internal):
            glue.connect(max_retries=retries).describe_table("ml$docs")
    assert len(glue.operations) == 1 + 3


# --- versions ----------------------------------------------------------------------------------------------------


def test_a_lost_race_is_run_again_on_what_is_there_then(service, holding):
    catalog = holding("docs")
    update = catalog.update_table

    def overtaken(asked):
        catalog.update_table = update
        table = catalog.tables["docs"]
        table["VersionId"], table["Parameters"] = "5", {**table["Parameters"], "theirs": "1"}
        return update(asked)

    catalog.update_table = overtaken
    answer = service(catalog).connect().alter_table_properties("ml$docs", {"ours": "1"})
    assert (
        answer.properties == catalog.tables["docs"]["Parameters"] == {"table_type": "lance", "theirs": "1", "ours": "1"}
    )


def test_an_update_that_was_done_is_not_done_again(service, holding):
    catalog = holding("docs")
    catalog.faults = [("UpdateTable", True, refused("OperationTimeoutException"))]
    glue = service(catalog)
    glue.connect().alter_table_properties("ml$docs", {"a": "b"})
    assert glue.operations == ["GetTable", "UpdateTable", "GetTable"]
    assert catalog.tables["docs"]["VersionId"] == "1"


def test_a_service_without_versions_is_not_trusted_with_an_update(service, holding):
    catalog = holding("docs")
    del catalog.tables["docs"]["VersionId"]
    glue = service(catalog)
    with pytest.raises(ours.Internal, match="versions"):
        glue.connect().alter_table_properties("ml$docs", {"a": "b"})
    assert glue.operations == ["GetTable"]


def test_what_says_that_it_is_a_lance_table_cannot_be_altered(service, holding):
    glue = service(holding("docs"))
    ns = glue.connect()
    for change in ({"updates": {"table_type": "x"}}, {"removals": ["table_type"]}):
        with pytest.raises(ours.InvalidInput):
            ns.alter_table_properties("ml$docs", **change)
    assert glue.operations == []
