"""The contract's rules for modes and behaviours, over a catalog that knows none of them."""

import pytest

from lance_ns.errors import InvalidInput, NamespaceAlreadyExists, NamespaceNotEmpty, NamespaceNotFound, Unsupported
from lance_ns.models import CreateMode, DropBehavior, DropMode
from lance_ns.rules import NamespaceRules

OPERATIONS = {"create_namespace", "describe_namespace", "drop_namespace"}
OLD, NEW = {"owner": "old"}, {"owner": "new"}


class Catalog(NamespaceRules):
    """What a backend supplies: `full` holds something, `empty` does not."""

    def __init__(self, config=None):
        self.entries = {(): {}, ("full",): OLD, ("full", "child"): {}, ("empty",): OLD}

    def create_entry(self, id, properties):
        if id in self.entries:
            raise NamespaceAlreadyExists("it exists")
        if id[:-1] not in self.entries:
            raise NamespaceNotFound("no parent")
        self.entries[id] = properties

    def find_entry(self, id):
        return self.entries.get(id)

    def replace_entry(self, id, properties):
        self.entries[id] = properties

    def remove_entry(self, id):
        del self.entries[id]

    def is_empty(self, id):
        return not any(each[:-1] == id for each in self.entries if each)


class Cascading(Catalog):
    """A catalog that can be cleared."""

    def clear(self, id):
        self.entries = {each: value for each, value in self.entries.items() if each[: len(id)] != id or each == id}


@pytest.fixture
def ns(memory):
    return memory.connect(factory=Catalog, capabilities=OPERATIONS)


@pytest.fixture
def cascading(memory):
    return memory.connect(factory=Cascading, capabilities=OPERATIONS | {"drop_namespace.cascade"})


@pytest.mark.parametrize("mode", CreateMode)
def test_a_missing_namespace_is_created_in_every_mode(ns, mode):
    assert ns.create_namespace("new", mode=mode, properties=NEW).properties == NEW
    assert ns.describe_namespace("new").properties == NEW


@pytest.mark.parametrize("mode", CreateMode)
def test_a_missing_parent_is_an_error_in_every_mode(ns, mode):
    with pytest.raises(NamespaceNotFound):
        ns.create_namespace("nowhere$new", mode=mode)


@pytest.mark.parametrize("name", ["full", "empty", ""])
def test_creating_what_exists_is_an_error(ns, name):
    with pytest.raises(NamespaceAlreadyExists):
        ns.create_namespace(name, properties=NEW)


@pytest.mark.parametrize("name", ["full", "empty"])
def test_exist_ok_keeps_what_exists_and_answers_with_it(ns, name):
    assert ns.create_namespace(name, mode="exist_ok", properties=NEW).properties == OLD
    assert ns.describe_namespace(name).properties == OLD


def test_exist_ok_is_fine_for_the_root(ns):
    assert ns.create_namespace("", mode="exist_ok").properties == {}


def test_overwrite_replaces_the_properties_of_an_empty_namespace(ns):
    assert ns.create_namespace("empty", mode="overwrite", properties=NEW).properties == NEW
    assert ns.describe_namespace("empty").properties == NEW
    ns.create_namespace("empty", mode="overwrite")
    assert ns.describe_namespace("empty").properties == {}


def test_overwrite_never_removes_anything(ns):
    with pytest.raises(NamespaceNotEmpty):
        ns.create_namespace("full", mode="overwrite", properties=NEW)
    assert ns.describe_namespace("full").properties == OLD
    assert ns.namespace_exists("full$child")


def test_the_root_is_neither_replaced_nor_dropped(cascading):
    with pytest.raises(InvalidInput):
        cascading.create_namespace("", mode="overwrite", properties=NEW)
    with pytest.raises(InvalidInput):
        cascading.drop_namespace("", mode="skip", behavior="cascade")
    assert cascading.namespace_exists("full$child")


def test_who_loses_a_race_for_a_name_that_is_gone_again_learns_of_it(memory):
    class Racing(Catalog):
        def find_entry(self, id):
            return None if id == ("empty",) else super().find_entry(id)

    ns = memory.connect(factory=Racing, capabilities=OPERATIONS)

    with pytest.raises(NamespaceAlreadyExists):
        ns.create_namespace("empty", mode="exist_ok")


def test_a_missing_namespace_cannot_be_described(ns):
    with pytest.raises(NamespaceNotFound, match="namespace nowhere not found"):
        ns.describe_namespace("nowhere")


def test_an_empty_namespace_is_dropped_with_the_properties_that_it_had(ns):
    assert ns.drop_namespace("empty").properties == OLD
    assert not ns.namespace_exists("empty")


@pytest.mark.parametrize("behavior", DropBehavior)
def test_dropping_what_is_missing_fails_or_is_skipped_as_the_mode_says(cascading, behavior):
    with pytest.raises(NamespaceNotFound):
        cascading.drop_namespace("nowhere", mode=DropMode.FAIL, behavior=behavior)
    assert cascading.drop_namespace("nowhere", mode=DropMode.SKIP, behavior=behavior).properties is None


@pytest.mark.parametrize("mode", DropMode)
def test_restrict_leaves_a_namespace_that_holds_anything(cascading, mode):
    with pytest.raises(NamespaceNotEmpty):
        cascading.drop_namespace("full", mode=mode)
    assert cascading.namespace_exists("full$child")


def test_cascade_drops_a_namespace_with_what_it_holds_and_nothing_else(cascading):
    cascading.drop_namespace("full", behavior="cascade")

    assert cascading._implementation.entries == {(): {}, ("empty",): OLD}


def test_cascade_is_unsupported_where_it_is_not_declared(ns):
    with pytest.raises(Unsupported):
        ns.drop_namespace("full", behavior="cascade")
    assert ns.namespace_exists("full$child")
