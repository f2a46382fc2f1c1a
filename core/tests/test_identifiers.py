"""Identifiers: written forms, faults, and locations that no name can lead astray."""

import posixpath
import re
from itertools import combinations
from urllib.parse import urlsplit

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lance_ns.errors import InvalidInput
from lance_ns.identifiers import MAX_LEVEL_LENGTH, default_location, display, levels, parse, same_place

CONTROL = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
BASES = ["/", "/lake", "/lake/", "lake", "s3://b", "s3://b/x/", "file:///x", "file:///"]

any_level = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=MAX_LEVEL_LENGTH)
level = any_level.filter(lambda text: text not in (".", ".."))
hostile = st.text(st.sampled_from("./\\~%$:?#*&=+ '\"aA0_-é漢😀\u2028\u202e"), min_size=1, max_size=255).filter(
    lambda text: text not in (".", "..")
)
long_level = st.builds(lambda start, end: (start * 200)[:200] + end, level, st.text("ab", min_size=1, max_size=50))
levels_of_any_kind = level | hostile | long_level.filter(lambda text: len(text) <= MAX_LEVEL_LENGTH)
identifiers = st.lists(levels_of_any_kind, min_size=1, max_size=5).map(tuple)


# --- written forms -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", [None, "", "$", (), []], ids=repr)
def test_the_root_is_written_in_several_ways(root):
    assert parse(root) == ()


@given(identifiers)
def test_a_sequence_of_levels_is_read_as_it_is(identifier):
    assert parse(list(identifier)) == parse(identifier) == levels(identifier) == identifier


@pytest.mark.parametrize("delimiter", ["$", ".", "/", "::"])
@given(data=st.data())
def test_what_is_shown_with_the_delimiter_is_read_as_the_same(delimiter, data):
    alphabet = st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters=[*delimiter, "."])
    identifier = tuple(data.draw(st.lists(st.text(alphabet, min_size=1, max_size=20), min_size=1, max_size=5)))

    shown = display(identifier, delimiter)

    assert shown == delimiter.join(identifier)
    assert parse(shown, delimiter) == identifier


@given(identifiers, st.builds("{}${}".format, st.text(max_size=20), st.text(max_size=20)))
def test_a_level_that_holds_the_delimiter_is_shown_as_a_list(others, level):
    shown = display([*others, level])

    assert shown != "$".join([*others, level])
    assert (shown[0], shown[-1]) == ("[", "]")


def test_an_identifier_that_is_shown_as_a_list_shows_its_levels():
    assert display(["a$b", "c"]) == "['a$b', 'c']"


def test_the_root_has_a_name_for_people():
    assert display(()) == "(root)"


def test_another_delimiter_leaves_the_usual_one_alone():
    assert parse("a$b.c", ".") == ("a$b", "c")
    assert parse(".", ".") == ()


# --- faults --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("identifier", ["a$", "$a", "a$$b", ["a", ""], [""], "$$"], ids=repr)
def test_an_empty_level_is_refused_with_its_position(identifier):
    with pytest.raises(InvalidInput, match=r"level \d of identifier .* is empty"):
        parse(identifier)


def test_a_level_is_at_most_as_long_as_a_file_name():
    assert parse(["é" * MAX_LEVEL_LENGTH])

    with pytest.raises(InvalidInput, match="has 256 characters, 255 are allowed"):
        parse(["a", "é" * (MAX_LEVEL_LENGTH + 1)])


@pytest.mark.parametrize("name", [".", ".."])
def test_a_level_that_would_be_read_as_a_path_is_refused(name):
    with pytest.raises(InvalidInput, match=r"level 2 of identifier .* would be read as a path"):
        parse(["a", name])


@pytest.mark.parametrize("char", CONTROL, ids=lambda char: f"{ord(char):02x}")
def test_every_control_character_is_refused(char):
    for name in (char, f"a{char}", f"{char}a", f"a{char}b"):
        with pytest.raises(InvalidInput, match="holds a control character"):
            parse([name])


@given(st.text(max_size=5), st.integers(0xD800, 0xDFFF).map(chr), st.text(max_size=5))
def test_a_lone_surrogate_is_refused(before, surrogate, after):
    assume(not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in before + after))

    with pytest.raises(InvalidInput, match="is not valid Unicode"):
        parse([f"{before}{surrogate}{after}"])


@pytest.mark.parametrize("level", [None, 1, True, b"docs", ["docs"], 1.5, object()], ids=lambda level: repr(level)[:7])
def test_a_level_that_is_no_string_is_refused_with_its_type(level):
    with pytest.raises(InvalidInput, match=f"level 2 of identifier .* is not a string but {type(level).__name__}"):
        parse(["ml", level])


@pytest.mark.parametrize(
    "identifier",
    [5, 1.5, True, 0, False, object(), b"ml", b"", {"ml": 1}, {}, {"ml"}, set()],
    ids=lambda identifier: repr(identifier)[:7],
)
def test_what_is_neither_a_string_nor_a_sequence_is_no_identifier(identifier):
    """Nor is it the root, however empty it is."""
    with pytest.raises(InvalidInput):
        parse(identifier)


def test_the_levels_of_a_request_are_no_string():
    with pytest.raises(InvalidInput, match="sequence of levels, not the string 'ml"):
        levels("ml$docs")


@given(st.lists(st.text(max_size=400) | st.integers() | st.none(), max_size=30))
def test_any_sequence_is_either_read_or_refused_in_a_short_printable_text(given_levels):
    try:
        assert levels(given_levels) == tuple(given_levels)
        return
    except InvalidInput as error:
        text = str(error)
    assert len(text) < 1000
    assert text.encode()
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", text)


@given(st.text(max_size=40))
def test_any_string_is_either_read_or_refused(text):
    try:
        read = parse(text)
    except InvalidInput:
        return
    assert text in ("", "$") if read == () else "$".join(read) == text


# --- default locations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "location"),
    [
        ("/", "/ml/docs"),
        ("/lake", "/lake/ml/docs"),
        ("/lake/", "/lake/ml/docs"),
        ("lake", "lake/ml/docs"),
        ("s3://b", "s3://b/ml/docs"),
        ("s3://b/x/", "s3://b/x/ml/docs"),
        ("file:///x", "file:///x/ml/docs"),
        ("file:///", "file:///ml/docs"),
    ],
)
def test_a_default_location_is_one_segment_for_each_level(base, location):
    assert default_location(base, ["ml", "docs"]) == location


@given(st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}", fullmatch=True))
def test_a_plain_name_stays_as_it_is(name):
    assert default_location("s3://b/x", [name]) == f"s3://b/x/{name}"


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("a b", "a~20b"),
        ("a/b", "a~2Fb"),
        ("a\\b", "a~5Cb"),
        ("100%", "100~25"),
        ("%2e%2e", "~252e~252e"),
        ("~", "~7E"),
        (".hidden", "~2Ehidden"),
        ("...", "~2E.."),
        ("dócs", "d~C3~B3cs"),
        ("漢", "~E6~BC~A2"),
    ],
)
def test_every_other_character_is_written_as_its_bytes(name, segment):
    assert default_location("/lake", [name]) == f"/lake/{segment}"


@pytest.mark.parametrize("base", BASES)
@given(identifier=identifiers)
@example(identifier=("..", "..", "evil"))
@example(identifier=("../../evil",))
@example(identifier=("..\\..\\evil",))
@example(identifier=("%2e%2e", "%2F"))
@example(identifier=("~", "~root"))
def test_a_default_location_never_leaves_its_base(base, identifier):
    location = default_location(base, identifier)

    assert location.startswith(base)
    rest = location.removeprefix(base).removeprefix("/")
    segments = rest.split("/")
    assert len(segments) == len(identifier)
    for segment in segments:
        assert re.fullmatch(r"[A-Za-z0-9._~-]+", segment), "what any storage client could read as something else"
        assert segment not in ("", ".", "..")
        assert len(segment.encode()) <= 255
    assert posixpath.normpath(rest) == rest
    assert urlsplit(location).path.endswith(f"/{rest}"), "nothing of it is a query or a fragment"


@given(st.lists(identifiers, min_size=2, max_size=6, unique=True))
@example([("a/b",), ("a", "b")])
@example([("a b",), ("a~20b",), ("a%20b",), ("a+b",)])
@example([("é",), ("e\u0301",), ("~C3~A9",)])
@example([("x" * 200,), ("x" * 201,), ("x" * 255,)])
@example([("é" * 100,), ("é" * 101,)])
@example([("x" * 166 + "é" * 40,), ("x" * 166 + "é" * 41,)])
@example([(".a",), ("~2Ea",)])
def test_different_identifiers_never_share_a_location(several):
    for one, other in combinations(several, 2):
        assert default_location("/lake", one) != default_location("/lake", other)


@pytest.mark.parametrize("char", ["x", "é", "漢"])
def test_long_names_that_differ_in_their_ends_alone_have_different_locations(char):
    names = [f"{char * 240}{number}" for number in range(3000)]

    assert len({default_location("/lake", [name]) for name in names}) == len(names)


def test_a_short_name_cannot_be_made_to_meet_a_long_one():
    """A long name ends in a hash. Taking that location as a name gives another location."""
    long = default_location("", ["x" * 255]).lstrip("/")

    assert default_location("", [long]).lstrip("/") != long


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/lake/t", "/lake/t", True),
        ("/lake/t", "file:/lake/t", True),
        ("/lake/t", "file:///lake/t", True),
        ("/lake/t/", "file:///lake/t", True),
        ("s3://lake/t/", "s3://lake/t", True),
        ("s3://lake/t", "s3://lake/T", False),
        ("s3://lake/t", "s3a://lake/t", False),
        ("/lake/t", "/lake/tt", False),
    ],
)
def test_a_place_is_the_same_in_all_its_spellings(one, other, same):
    assert same_place(one, other) is same_place(other, one) is same
