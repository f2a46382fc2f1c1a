"""The error taxonomy: texts, wire form, pickling, and what a connection adds."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_ns import errors
from lance_ns.errors import ErrorCode, Internal, InvalidInput, LanceNsError, TableNotFound, error_class

STATUS = {
    404: (1, 4, 6, 8, 10, 11, 12, 22),
    409: (2, 3, 5, 7, 9, 14, 19, 23),
    400: (13, 20),
    406: (0,),
    403: (15,),
    401: (16,),
    503: (17,),
    429: (21,),
    500: (18,),
}
RETRYABLE = {ErrorCode.CONCURRENT_MODIFICATION, ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.THROTTLING}
FIELDS = ("message", "hint", "operation", "identifier", "backend", "retryable", "retry_after", "native")

each_code = pytest.mark.parametrize("code", ErrorCode, ids=lambda code: code.name)

words = st.text(st.characters(codec="utf-8"), min_size=1)
full_errors = st.builds(
    lambda code, message, **fields: error_class(code)(message, **fields),
    st.sampled_from(ErrorCode),
    words,
    hint=st.none() | words,
    operation=st.none() | st.sampled_from(["describe_table", "list_tables"]),
    identifier=st.none()
    | st.lists(st.text(st.characters(codec="utf-8", exclude_characters="$"), min_size=1)).map(tuple),
    backend=st.none() | words,
    retryable=st.none() | st.booleans(),
    retry_after=st.none() | st.floats(0, 1e6),
    native=st.none() | words,
)


def contents(error: LanceNsError) -> dict[str, object]:
    return {"class": type(error), "code": error.code} | {name: getattr(error, name) for name in FIELDS}


# --- codes ---------------------------------------------------------------------------------------------------------


def test_every_code_has_one_class_of_its_own(error_classes):
    assert [kind.code for kind in error_classes] == list(ErrorCode)
    assert set(error_classes) == set(LanceNsError.__subclasses__())


@each_code
def test_the_class_of_every_code_is_named_after_it_and_public(code):
    kind = error_class(code)

    assert kind.__name__.lower() == code.name.replace("_", "").lower()
    assert getattr(errors, kind.__name__) is kind
    assert kind.__doc__


def test_a_number_outside_of_the_contract_has_no_class():
    with pytest.raises(ValueError, match="24"):
        error_class(24)


@pytest.mark.parametrize(("status", "codes"), STATUS.items(), ids=map(str, STATUS))
def test_codes_have_the_status_of_the_rest_form(status, codes):
    assert {int(code) for code in ErrorCode if code.http_status == status} == set(codes)


@each_code
def test_only_what_may_pass_by_itself_is_retryable_unless_said_otherwise(code):
    kind = error_class(code)

    assert kind("x").retryable is (code in RETRYABLE)
    assert kind("x", retryable=True).retryable is True
    assert kind("x", retryable=False).retryable is False


# --- texts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            TableNotFound("table ml$nope not found", backend="glue"),
            "glue: table ml$nope not found (TableNotFound, 4)",
        ),
        (
            InvalidInput(
                "unknown property 'end_point'",
                backend="unity",
                hint="did you mean 'endpoint'? `lance-ns config unity` lists them all",
            ),
            (
                "unity: unknown property 'end_point' (InvalidInput, 13): did you mean 'endpoint'? "
                "`lance-ns config unity` lists them all"
            ),
        ),
        (Internal("it broke"), "it broke (Internal, 18)"),
        (errors.Unsupported("no"), "no (Unsupported, 0)"),
    ],
    ids=["backend", "hint", "bare", "zero"],
)
def test_an_error_reads_as_one_line(error, text):
    assert str(error) == text
    assert error.args == (error.message,)


def test_all_errors_are_caught_as_one(error_classes):
    for kind in error_classes:
        with pytest.raises(LanceNsError):
            raise kind("x")


# --- the wire ------------------------------------------------------------------------------------------------------


@given(full_errors)
def test_the_wire_form_keeps_every_field(error):
    assert contents(LanceNsError.from_wire(error.to_wire())) == contents(error)


@each_code
def test_the_wire_form_of_every_code_comes_back_as_its_class(code):
    body = error_class(code)("it failed", identifier=("ml", "docs")).to_wire()

    assert body["code"] == int(code)
    assert body["error"] == "it failed"
    assert body["instance"] == "ml$docs"
    assert type(LanceNsError.from_wire(body)) is error_class(code)


def test_what_is_unknown_is_left_out_of_the_wire_form():
    assert Internal("x").to_wire() == {"code": 18, "error": "x", "context": {"retryable": "false"}}


def test_the_root_and_no_identifier_stay_apart_on_the_wire():
    assert Internal("x", identifier=()).to_wire()["instance"] == "$"
    assert LanceNsError.from_wire({"code": 18, "instance": "$"}).identifier == ()
    assert LanceNsError.from_wire({"code": 18}).identifier is None


@pytest.mark.parametrize("code", [24, -1, 4.5, "TableNotFound", None, [], {}], ids=repr)
def test_an_unknown_code_is_internal_and_keeps_its_text(code):
    error = LanceNsError.from_wire({"code": code, "error": "the server says so"})

    assert type(error) is Internal
    assert error.message == "the server says so"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"code": 4},
        {"code": 4, "error": None},
        {"code": 4, "error": ""},
        {"code": 4, "context": None},
        {"code": 4, "context": {}},
        {"code": 4, "context": "none"},
        {"code": 4, "context": ["retryable"]},
        {"code": 4, "context": {"retry_after": "soon"}},
        {"code": 4, "context": {"retry_after": None, "retryable": None}},
        {"code": 4, "instance": 5},
        {"code": 4, "error": {"message": "nested"}},
    ],
    ids=repr,
)
def test_a_body_that_a_foreign_server_sent_is_always_read_as_an_error(body):
    error = LanceNsError.from_wire(body)

    assert type(error) is (TableNotFound if "code" in body else Internal)
    assert isinstance(error.message, str)
    assert error.message
    assert error.retry_after is None


# --- copies --------------------------------------------------------------------------------------------------------


@given(full_errors)
def test_pickling_keeps_every_field(error):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert contents(pickle.loads(pickle.dumps(error, protocol))) == contents(error)
    assert contents(copy.copy(error)) == contents(error)
    assert str(copy.deepcopy(error)) == str(error)


def test_a_subclass_of_a_backend_survives_pickling_as_itself():
    error = pickle.loads(pickle.dumps(SpecialTimeout("too late", retry_after=3)))

    assert type(error) is SpecialTimeout
    assert error.retry_after == 3
    assert error.code is ErrorCode.SERVICE_UNAVAILABLE


class SpecialTimeout(errors.ServiceUnavailable):
    """What a backend may derive."""


# --- what a connection adds ----------------------------------------------------------------------------------------


def test_a_connection_fills_in_what_the_place_of_the_error_did_not_know():
    error = TableNotFound("gone")

    assert error.within(backend="glue", operation="describe_table", identifier=("a",)) is error
    assert (error.backend, error.operation, error.identifier) == ("glue", "describe_table", ("a",))


def test_what_an_error_knows_already_stays():
    error = TableNotFound("gone", backend="hive3", operation="drop_table", identifier=())

    error.within(backend="glue", operation="describe_table", identifier=("a",))

    assert (error.backend, error.operation, error.identifier) == ("hive3", "drop_table", ())


def test_rewriting_reaches_every_text_of_an_error():
    error = Internal("m pin", hint="h pin", native="n pin", operation="o", backend="b")

    assert error.rewritten(lambda text: text.replace("pin", "***")) is error
    assert (error.message, error.hint, error.native) == ("m ***", "h ***", "n ***")
    assert "pin" not in f"{error} {error!r} {error.args} {error.to_wire()}"


def test_rewriting_leaves_what_is_not_there():
    error = Internal("m").rewritten(str.upper)

    assert (error.message, error.hint, error.native) == ("M", None, None)
