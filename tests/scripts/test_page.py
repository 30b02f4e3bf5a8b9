"""What the page is told of each service."""

import json
import re

import pytest

from adapters import BACKENDS
from scripts.forms import form
from scripts.page import page

FORMS = json.loads(re.search(r"\{\"dify\": .*\}(?=;?\n)", page())[0])  # type: ignore[index]


@pytest.mark.parametrize("tag", BACKENDS)
def test_a_service_says_whether_it_lists_and_how_it_is_searched(tag):
    told = FORMS[tag]
    assert told["lists"] is BACKENDS[tag].lists
    assert told["retrieval"] == form(tag)["spec"]["retrieval_schema"]
    assert {"top_k", "timeout"} <= {field["name"] for field in told["retrieval"]}
