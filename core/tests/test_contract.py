"""Models, words and codes are those of the installed `lance_namespace`, field for field."""

import inspect
import re
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from lance_ns import errors, wire
from lance_ns import models as m
from lance_ns.errors import InvalidInput

OURS_ALONE = {"alter_table_properties"}
OPERATIONS = sorted(m.REQUESTS.keys() - OURS_ALONE)
OTHER_CLASS = {"ListAllTablesRequest": "ListTablesRequest"}  # the contract has one class for both
KINDS = sorted(
    {kind for operation in OPERATIONS for kind in (m.REQUESTS[operation], m.REQUESTS[operation].response)},
    key=lambda kind: kind.__name__,
)
PARTS = [m.Identity, m.TableBasicStats]
FLAGS = {"include_declared": True, "with_table_uri": False, "load_detailed_metadata": False, "check_declared": False}
ENUMERATIONS = {
    m.CreateMode: ("CreateNamespaceRequest", "mode"),
    m.DropMode: ("DropNamespaceRequest", "mode"),
    m.DropBehavior: ("DropNamespaceRequest", "behavior"),
    m.RegisterMode: ("RegisterTableRequest", "mode"),
}
SAMPLES: dict[str, Any] = {
    "identity": {"api_key": "k", "auth_token": "t"},
    "context": {"trace": "1"},
    "id": ["ml", "dócs"],
    "page_token": "next",
    "limit": 7,
    "include_declared": False,
    "mode": "Overwrite",
    "behavior": "Cascade",
    "properties": {"owner": "search", "empty": ""},
    "transaction_id": "tx",
    "namespaces": ["a", "b"],
    "tables": ["a", "b"],
    "location": "s3://lake/ml/docs",
    "vend_credentials": False,
    "storage_options": {"region": "eu"},
    "managed_versioning": True,
    "version": 0,
    "tag": None,  # excludes version and branch
    "branch": "main",
    "with_table_uri": True,
    "load_detailed_metadata": True,
    "check_declared": True,
    "table": "docs",
    "namespace": ["ml"],
    "table_uri": "s3://lake/ml/docs",
    "schema": {"fields": [{"name": "id", "nullable": False, "type": {"type": "int64"}}], "metadata": {"k": "v"}},
    "stats": {"num_deleted_rows": 0, "num_fragments": 3},
    "metadata": {"k": "v"},
    "is_only_declared": False,
    "new_table_name": "papers",
    "new_namespace_id": ["other"],
    "api_key": "k",
    "auth_token": "t",
    "num_deleted_rows": 1,
    "num_fragments": 2,
}
SPECIAL = {
    ("DropNamespaceResponse", "transaction_id"): ["tx1", "tx2"],
    ("DropNamespaceRequest", "mode"): "Skip",
}


@pytest.fixture(scope="module")
def theirs() -> SimpleNamespace:
    """The contract's own classes."""
    import lance_namespace
    from lance_namespace_urllib3_client import models

    return SimpleNamespace(models=models, package=lance_namespace)


def their_class(theirs: SimpleNamespace, kind: type[Any]) -> Any:
    return getattr(theirs.models, OTHER_CLASS.get(kind.__name__, kind.__name__))


def wire_fields(kind: type[Any]) -> dict[str, Any]:
    return {field.name: field for field in attrs.fields(kind) if not field.metadata.get("extension")}


def full(kind: type[Any]) -> dict[str, Any]:
    """The wire form of a model with a value in every field that may have one together with the others."""
    values = {name: SPECIAL.get((kind.__name__, name), SAMPLES[name]) for name in wire_fields(kind)}
    return {name: value for name, value in values.items() if value is not None}


def required(kind: type[Any]) -> dict[str, Any]:
    return {name: full(kind)[name] for name, field in wire_fields(kind).items() if field.default is attrs.NOTHING}


def named(kind: type[Any]) -> str:
    return kind.__name__


# --- fields and defaults -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, *PARTS], ids=named)
def test_every_field_has_the_contracts_name_and_place(theirs, kind):
    contract = their_class(theirs, kind).model_fields

    assert list(wire_fields(kind)) == [field.alias or name for name, field in contract.items()]


@pytest.mark.parametrize("kind", [*KINDS, *PARTS], ids=named)
def test_a_field_is_required_where_the_contract_requires_it(theirs, kind):
    contract = their_class(theirs, kind).model_fields

    assert {name for name, field in wire_fields(kind).items() if field.default is attrs.NOTHING} == {
        field.alias or name for name, field in contract.items() if field.is_required()
    }


@pytest.mark.parametrize("kind", [*KINDS, *PARTS], ids=named)
def test_every_default_is_the_contracts_or_what_none_stands_for(theirs, kind):
    ours = kind(**required(kind))
    contract = their_class(theirs, kind).model_fields

    for name, field in contract.items():
        if field.is_required():
            continue
        value = getattr(ours, field.alias or name)
        if issubclass(kind, m.Request) and name == "id":
            assert (field.default, value) == (None, ()), "no identifier is the root"
        elif name in ("mode", "behavior"):
            assert (field.default, value) == (None, next(iter(type(value)))), "no mode is the first choice"
        elif name in FLAGS and issubclass(kind, m.Request):
            assert field.default in (None, FLAGS[name])
            assert value is FLAGS[name]
        else:
            assert value == field.default, name


@pytest.mark.parametrize("operation", OPERATIONS)
def test_none_in_an_optional_field_of_a_request_means_its_default(operation):
    kind = m.REQUESTS[operation]
    needed = required(kind)
    optional = {name: None for name in wire_fields(kind) if name not in needed}

    assert kind(**needed, **optional) == kind(**needed)


def test_every_extension_is_marked_and_nothing_else_is():
    marked = {
        f"{kind.__name__}.{field.name}"
        for kind in KINDS
        for field in attrs.fields(kind)
        if field.metadata.get("extension")
    }

    assert marked == {
        "DeclareTableRequest.schema",
        "DescribeTableRequest.with_columns",
        "DropTableRequest.delete_data",
        "RegisterTableRequest.schema",
    }


@pytest.mark.parametrize("operation", sorted(m.REQUESTS))
def test_a_request_knows_its_operation_and_the_class_of_its_answer(theirs, operation):
    kind = m.REQUESTS[operation]
    assert kind.operation == operation

    method = getattr(theirs.package.LanceNamespace, operation, None)
    if operation in OURS_ALONE:
        assert method is None
    else:
        signature = inspect.signature(method)
        assert signature.return_annotation is their_class(theirs, kind.response)
        assert signature.parameters["request"].annotation is their_class(theirs, kind)


# --- words and codes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ENUMERATIONS, ids=named)
def test_the_words_of_an_enumeration_are_the_contracts(theirs, choice):
    kind, field = ENUMERATIONS[choice]
    text = getattr(theirs.models, kind).model_fields[field].description.partition("Valid values are:")[2]

    assert [member.value for member in choice] == re.findall(r"[*-] (\w+)(?: \(default\))?:", text)


@pytest.mark.parametrize("choice", ENUMERATIONS, ids=named)
def test_the_first_word_of_an_enumeration_is_the_contracts_default(theirs, choice):
    kind, field = ENUMERATIONS[choice]
    default = re.search(r"(\w+) \(default\)", getattr(theirs.models, kind).model_fields[field].description)

    assert next(iter(choice)).value == (default[1] if default else "Create")


@pytest.mark.parametrize("member", [member for choice in ENUMERATIONS for member in choice], ids=repr)
def test_a_word_is_read_in_every_spelling_of_the_contract(member):
    choice = type(member)
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", member.value).lower()

    for spelling in (member.value, snake, snake.upper(), member.value.lower(), member.value.upper(), member):
        assert choice.read(spelling) is member


@pytest.mark.parametrize("value", ["", "Kreate", "create ", 1, True, ["Create"], b"Create"], ids=repr)
@pytest.mark.parametrize("choice", ENUMERATIONS, ids=named)
def test_any_other_word_is_refused_with_the_choices(choice, value):
    with pytest.raises(InvalidInput) as caught:
        choice.read(value)

    assert all(member.value in caught.value.hint for member in choice)


def test_every_error_code_has_the_contracts_number_and_name(theirs):
    contract = theirs.package.errors.ErrorCode

    assert {code.name: int(code) for code in errors.ErrorCode} == {code.name: int(code) for code in contract}


@pytest.mark.parametrize("code", errors.ErrorCode, ids=lambda code: code.name)
def test_every_error_class_has_the_name_that_the_contract_gives_its_code(theirs, code):
    text = theirs.models.ErrorResponse.model_fields["code"].description

    assert re.search(rf"(?<!\d){int(code)} - (\w+):", text)[1] == errors.error_class(code).__name__
    assert errors.error_class(code).code is code


def test_an_error_body_has_the_contracts_fields_and_no_others(theirs):
    error = errors.Throttling(
        "slow down", hint="wait", operation="list_tables", identifier=("a",), backend="b", retry_after=2, native="429"
    )
    body = error.to_wire()

    assert body.keys() == {*theirs.models.ErrorResponse.model_fields}
    assert theirs.models.ErrorResponse.from_dict(body).to_dict() == body


# --- the wire ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, *PARTS], ids=named)
@pytest.mark.parametrize("content", [full, required])
def test_what_we_send_the_contracts_class_reads_and_sends_back(theirs, kind, content):
    ours = wire.structure(content(kind), kind)

    received = their_class(theirs, kind).from_dict(wire.unstructure(ours))

    assert wire.structure(received.to_dict(), kind) == ours


@pytest.mark.parametrize("kind", [*KINDS, *PARTS], ids=named)
def test_what_the_contracts_class_sends_arrives_in_every_field(theirs, kind):
    sent = their_class(theirs, kind).from_dict(full(kind)).to_dict()

    ours = wire.structure(sent, kind)

    assert sent == full(kind), "the sample itself must be whole"
    assert wire.unstructure(ours) == sent
    for name, value in full(kind).items():
        held = getattr(ours, name)
        held = list(held) if isinstance(held, tuple) else wire.unstructure(held) if attrs.has(type(held)) else held
        assert held == value, name


def test_the_schema_of_a_description_goes_by_that_name(theirs):
    content = {"schema": {"fields": []}}

    received = theirs.models.DescribeTableResponse.from_dict(wire.unstructure(m.DescribeTableResponse(**content)))

    assert received.var_schema is not None
    assert wire.structure(received.to_dict(), m.DescribeTableResponse).schema == {"fields": []}


def test_null_properties_and_empty_ones_stay_apart():
    assert "properties" not in wire.unstructure(m.DescribeNamespaceResponse())
    assert wire.unstructure(m.DescribeNamespaceResponse(properties={})) == {"properties": {}}


def test_an_extension_is_never_sent():
    declare = m.DeclareTableRequest(id=["t"], schema=object())
    drop = m.DropTableRequest(id=["t"], delete_data=True)

    assert wire.unstructure(declare) == {"id": ["t"]}
    assert wire.unstructure(drop) == {"id": ["t"]}


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (m.DropTableRequest, {"id": ["t"], "delete_data": True}),
        (m.DeclareTableRequest, {"id": ["t"], "schema": {"fields": []}}),
    ],
    ids=["delete_data", "schema"],
)
def test_an_extension_that_comes_over_the_wire_is_refused(kind, content):
    with pytest.raises(InvalidInput, match="has no field"):
        wire.structure(content, kind)


@pytest.mark.parametrize("kind", [*KINDS, *PARTS], ids=named)
def test_an_unknown_field_is_refused_by_name(kind):
    with pytest.raises(InvalidInput, match=f"{kind.__name__} has no field surprise"):
        wire.structure({**full(kind), "surprise": 1}, kind)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (m.ListTablesResponse, {}),
        (m.ListTablesResponse, {"tables": "abc"}),
        (m.ListTablesResponse, {"tables": [1]}),
        (m.ListTablesResponse, {"tables": None}),
        (m.ListTablesResponse, ["tables"]),
        (m.ListTablesResponse, "tables"),
        (m.ListTablesResponse, None),
        (m.DescribeTableResponse, {"namespace": "abc"}),
        (m.DescribeTableResponse, {"version": "1"}),
        (m.DescribeTableResponse, {"version": True}),
        (m.DescribeTableResponse, {"managed_versioning": "false"}),
        (m.DescribeTableResponse, {"storage_options": {"a": 1}}),
        (m.DescribeTableResponse, {"stats": {"num_fragments": 1}}),
        (m.DescribeTableResponse, {"stats": 5}),
        (m.ListTablesRequest, {"id": "abc"}),
        (m.ListTablesRequest, {"id": [1]}),
        (m.ListTablesRequest, {"limit": "3"}),
        (m.ListTablesRequest, {"include_declared": "false"}),
        (m.ListTablesRequest, {"identity": "token"}),
        (m.ListTablesRequest, {"identity": {"auth_token": 5}}),
        (m.ListTablesRequest, {"context": {"a": 5}}),
        (m.RegisterTableRequest, {"id": ["t"]}),
        (m.AlterTablePropertiesRequest, {"removals": "abc"}),
        (m.DeclareTableRequest, {"vend_credentials": "no"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else repr(value),
)
def test_nothing_is_converted_silently(kind, content):
    with pytest.raises(InvalidInput):
        wire.structure(content, kind)


# --- requests check themselves -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (m.DescribeTableRequest, {"id": "a$b"}),
        (m.DescribeTableRequest, {"id": 5}),
        (m.DescribeTableRequest, {"version": -1}),
        (m.DescribeTableRequest, {"version": 1.0}),
        (m.DescribeTableRequest, {"tag": 5}),
        (m.DescribeTableRequest, {"tag": "x", "version": 1}),
        (m.DescribeTableRequest, {"tag": "x", "branch": "main"}),
        (m.DescribeTableRequest, {"check_declared": "false"}),
        (m.DescribeTableRequest, {"vend_credentials": "false"}),
        (m.DescribeTableRequest, {"identity": {"auth_token": "t"}}),
        (m.DeclareTableRequest, {"vend_credentials": "false"}),
        (m.DeclareTableRequest, {"location": 5}),
        (m.CreateNamespaceRequest, {"mode": "sometimes"}),
        (m.CreateNamespaceRequest, {"properties": {"a": 1}}),
        (m.CreateNamespaceRequest, {"properties": {1: "a"}}),
        (m.CreateNamespaceRequest, {"properties": {"a": None}}),
        (m.CreateNamespaceRequest, {"properties": {"a": "\ud800"}}),
        (m.CreateNamespaceRequest, {"properties": {"\udfff": "a"}}),
        (m.CreateNamespaceRequest, {"properties": [("a", "b")]}),
        (m.CreateNamespaceRequest, {"context": "a=b"}),
        (m.RegisterTableRequest, {"location": ""}),
        (m.RegisterTableRequest, {"location": None}),
        (m.RenameTableRequest, {"new_table_name": ""}),
        (m.RenameTableRequest, {"new_table_name": ".."}),
        (m.RenameTableRequest, {"new_table_name": "a", "new_namespace_id": "ml"}),
        (m.RenameTableRequest, {"new_table_name": "a", "new_namespace_id": [""]}),
        (m.DropTableRequest, {"delete_data": "false"}),
        (m.AlterTablePropertiesRequest, {"removals": "owner"}),
        (m.AlterTablePropertiesRequest, {"removals": [1]}),
        (m.AlterTablePropertiesRequest, {"updates": {"a": 1}}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else repr(value),
)
def test_a_request_that_cannot_be_right_is_not_made(kind, fields):
    with pytest.raises(InvalidInput):
        kind(**fields)


def test_a_request_does_not_change_with_the_dictionary_that_it_was_made_of():
    properties = {"owner": "search"}
    request = m.CreateNamespaceRequest(id=["ml"], properties=properties)
    properties["owner"] = "somebody else"

    assert request.properties == {"owner": "search"}


def test_models_are_equal_by_class_and_content():
    assert m.DescribeTableRequest(id=["a"]) == m.DescribeTableRequest(id=("a",))
    assert m.DescribeTableRequest(id=["a"]) != m.DescribeTableRequest(id=["b"])
    assert m.DescribeTableRequest(id=["a"]) != m.TableExistsRequest(id=["a"])


def test_a_model_shows_what_is_set_and_neither_identity_nor_storage_options():
    request = m.DescribeTableRequest(id=["a"], identity=m.Identity(auth_token="canary"), version=3)
    response = m.DescribeTableResponse(location="/a", storage_options={"key": "canary"})

    assert repr(request).startswith("DescribeTableRequest(id=('a',), version=3")
    assert repr(response) == "DescribeTableResponse(location='/a')"
    assert "canary" not in f"{request!r}{request!s}{request.identity!r}{response!r}{response!s}"
