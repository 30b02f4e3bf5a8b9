import pytest

from bridge.errors import SettingsError
from bridge.filters import Condition, Filter


@pytest.mark.parametrize(
    ("where", "logic", "conditions"),
    [
        ({}, "and", []),
        ({"a": "x"}, "and", [("a", "eq", "x")]),
        ({"a": {"$ne": 3}}, "and", [("a", "ne", 3)]),
        ({"a": {"$gte": 1, "$lte": 2}}, "and", [("a", "gte", 1), ("a", "lte", 2)]),
        ({"a": "x", "b": {"$in": [1, 2]}}, "and", [("a", "eq", "x"), ("b", "in", [1, 2])]),
        ({"$and": [{"a": "x"}, {"b": {"$gt": 2022}}]}, "and", [("a", "eq", "x"), ("b", "gt", 2022)]),
        ({"c": True, "$and": [{"a": "x"}]}, "and", [("c", "eq", True), ("a", "eq", "x")]),
        ({"$or": [{"a": "x"}, {"b": {"$nin": ["y"]}}]}, "or", [("a", "eq", "x"), ("b", "nin", ["y"])]),
    ],
)
def test_chromas_form_is_read(where, logic, conditions):
    assert Filter.of(where) == Filter(tuple(Condition(*c) for c in conditions), logic)


@pytest.mark.parametrize(
    "where",
    [
        {"a": {"$regex": "x"}},
        {"a": {}},
        {"a": None},
        {"a": ["x"]},
        {"a": {"$in": "x"}},
        {"a": {"$in": []}},
        {"a": {"$in": [{}]}},
        {"a": {"$gt": [1]}},
        {"$not": [{"a": 1}]},
        {"$and": {"a": 1}},
        {"$and": []},
        {"$and": [{"$or": [{"a": 1}, {"b": 1}]}]},
        {"$or": [{"a": 1, "b": 2}]},
        {"$or": [{"a": {"$gt": 1, "$lt": 5}}]},
        {"$or": [{"a": 1}], "b": 2},
        {"$or": [{}]},
    ],
)
def test_what_cant_be_said_to_a_service_is_refused(where):
    with pytest.raises(SettingsError, match="filters: "):
        Filter.of(where)


METADATA = {
    "document_name": "a.txt",
    "document_metadata": {"year": 2024, "author": "wang", "tags": ["x", "y"], "n": "7"},
}


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ({}, True),
        ({"year": 2024}, True),
        ({"year": "2024"}, True),
        ({"year": 2023}, False),
        ({"year": {"$ne": 2023}}, True),
        ({"year": {"$gte": 2024}}, True),
        ({"year": {"$gt": 2024}}, False),
        ({"year": {"$lt": 2025}}, True),
        ({"year": {"$lte": 2023}}, False),
        ({"year": {"$in": [2023, 2024]}}, True),
        ({"year": {"$nin": [2023, 2024]}}, False),
        ({"n": {"$lt": 10}}, True),
        ({"author": "Wang"}, False),
        ({"author": {"$gt": 5}}, False),
        ({"author": {"$gte": "wang"}}, True),
        ({"tags": "y"}, True),
        ({"tags": {"$ne": "y"}}, False),
        ({"missing": "x"}, False),
        ({"missing": {"$ne": "x"}}, True),
        ({"missing": {"$gt": 0}}, False),
        ({"document_name": "a.txt"}, True),
        ({"document_metadata": "x"}, False),
        ({"year": True}, False),
        ({"$or": [{"year": 1}, {"author": "wang"}]}, True),
        ({"$or": [{"year": 1}, {"author": "li"}]}, False),
        ({"year": 2024, "author": "li"}, False),
    ],
)
def test_a_hit_is_checked_against_them(where, holds):
    assert Filter.of(where).holds(METADATA) is holds


def test_booleans_compare_with_their_text():
    assert Filter.of({"public": True}).holds({"document_metadata": {"public": "true"}})
    assert not Filter.of({"public": True}).holds({"document_metadata": {"public": 1}})
