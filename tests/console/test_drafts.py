"""A form that isn't saved yet is kept in memory, without what is secret."""

from console.drafts import DRAFTS, LIMIT, Drafts
from tests.console.host import KEY, dify, say

SECRET = "code-made-up-11"


async def test_a_form_is_kept_without_its_key_until_it_is_saved(plugin, dify_service):
    values = dify(dify_service, api_base_url=f"https://h.test/x?code={SECRET}")
    await say(plugin, "/draft", draft={"name": "half", "values": values, "question": "refunds"})
    kept = (await say(plugin, "/overview"))["draft"]
    assert (kept["draft"]["name"], kept["draft"]["question"]) == ("half", "refunds")
    assert kept["draft"]["values"]["dataset_id"] == values["dataset_id"]
    assert KEY not in str(kept)
    assert SECRET not in str(kept)
    assert (await say(plugin, "/connections/save", name="half", settings=dify(dify_service)))["saved"]
    assert (await say(plugin, "/overview"))["draft"] is None


async def test_a_save_that_fails_leaves_the_form(plugin, dify_service):
    await say(plugin, "/draft", draft={"name": "half", "values": {}})
    await say(plugin, "/connections/save", name="half", settings=dify(dify_service, dataset_id=""))
    assert (await say(plugin, "/overview"))["draft"]["draft"]["name"] == "half"


def test_forms_belong_to_their_installation_and_are_bounded():
    drafts = Drafts()
    drafts.keep("one", {"name": "mine", "values": {}})
    assert drafts.kept("two") is None
    drafts.keep("one", {"name": "x" * LIMIT, "values": {}})
    assert drafts.kept("one") is None
    nothing: list[object] = [None, [], "x", 7]
    for one in nothing:
        drafts.keep("one", {"name": "mine", "values": "no settings"})
        kept = drafts.kept("one")
        assert kept
        assert kept["draft"]["values"] == {}
        drafts.keep("one", one)
        assert drafts.kept("one") is None
    for number in range(DRAFTS + 1):
        drafts.keep(str(number), {"values": {}})
    assert drafts.kept("0") is None
    assert drafts.kept(str(DRAFTS))
    drafts.forget(str(DRAFTS))
    assert drafts.kept(str(DRAFTS)) is None
