"""What the page is told of a test's steps: what failed, and what works but should be looked at."""

from typing import Any, cast

import pytest

from adapters import Access
from console import api
from console.watch import Watches
from tests.contract.cases import KEY
from tests.service import reply

FOUND = {"content": "Refunds are paid within 14 days.", "score": 0.5, "title": "refund-policy.txt", "metadata": {}}


class Plugin:
    tenant = ""

    def __init__(self, pool):
        self.pool, self.watches = pool, Watches()

    def access(self):
        return Access(self.pool)


@pytest.mark.parametrize(
    ("answered", "state", "kind"),
    [
        (reply(200, {"records": [FOUND]}), "ok", ""),
        (reply(200, {"records": [FOUND, {}]}), "warning", ""),
        (reply(200, {"records": []}), "warning", ""),
        (reply(500, {"error_code": 3, "error_msg": "down"}), "failed", "UnavailableError"),
    ],
    ids=["good", "a note", "nothing found", "failed"],
)
async def test_a_step_is_ok_a_warning_or_failed(answered, state, kind, service, pool):
    service.answers = [answered]
    settings = {"backend": "external_knowledge", "api_base_url": service.base, "api_key": KEY, "dataset_id": "kb-1"}
    answer = await api.answer(cast("Any", Plugin(pool)), "/test", {"settings": settings})
    assert answer["steps"][0] == {
        "name": "settings",
        "state": "ok",
        "text": f"External Knowledge, {service.base}",
        "kind": "",
        "fields": [],
    }
    assert (answer["steps"][-1]["state"], answer["steps"][-1]["kind"]) == (state, kind)
