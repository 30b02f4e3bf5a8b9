"""A host for the plugin's page: storage in a dict, knowledge bases in a list, one recorded Dify."""

import asyncio

from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from bridge.errors import BridgeError
from components.knowledge_engine.engine import RemoteEngine
from console import api
from main import KnowledgeBridge
from tests.contract.cases import case_of

DIFY, FASTGPT = case_of("dify"), case_of("fastgpt")
KEY = "dataset-console-Secret-88"
QUESTION = "How long do refunds take?"


class Plugin(KnowledgeBridge):
    """The plugin with a host of its own: storage in a dict, knowledge bases in a list."""

    def __init__(self):
        super().__init__()
        self.stored: dict[str, bytes] = {}
        self.broken = ""
        self.fails_at = 0
        """Which call of the storage fails, 1 the next."""
        self.engine: RemoteEngine
        self.bases: dict[str, dict[str, object]] = {}
        self.retrieval: dict[str, dict[str, object]] = {}

    def fail(self, what):
        self.fails_at -= 1
        if self.fails_at == 0 or what in self.broken:
            raise RuntimeError(f"ActionCallError: sql internals {KEY}")

    async def set_plugin_storage(self, key, value):
        self.fail("write")
        await asyncio.sleep(0)
        self.stored[key] = value

    async def get_plugin_storage(self, key):
        self.fail("read")
        if key not in self.stored:
            raise RuntimeError(f"Storage with key {key} not found")
        return self.stored[key]

    async def get_plugin_storage_keys(self):
        self.fail("keys")
        return list(self.stored)

    async def delete_plugin_storage(self, key):
        self.fail("delete")
        self.stored.pop(key, None)

    async def list_knowledge_bases(self):
        return [{"uuid": name, "name": f"KB {name}"} for name in self.bases]

    async def retrieve_knowledge(self, kb_id, query_text, top_k=5, filters=None):
        asked = RetrievalContext(
            query=query_text,
            knowledge_base_id=kb_id,
            creation_settings=self.bases[kb_id],
            retrieval_settings={**self.retrieval.get(kb_id, {}), "top_k": top_k, "bot_uuid": "bot-7"},
            filters=filters or {},
        )
        try:
            answer = await self.engine.retrieve(asked)
        except BridgeError as error:
            told = f"ActionCallError: [RetrievalError/ActionCallError] [kb_id={kb_id}] ActionCallError: "
            raise RuntimeError(f"{told}{type(error).__name__}: {error}") from None
        return answer.model_dump(mode="json")["results"]


async def say(plugin, endpoint, **body):
    return await api.answer(plugin, endpoint, body)


def dify(service, **rest):
    return {"backend": "dify", "api_key": KEY, **DIFY.creation} | {"api_base_url": service.base} | rest


async def saved(plugin, settings, name="shop", **rest):
    """A connection that is stored without a test."""
    answer = await say(plugin, "/connections/save", **{"name": name, "settings": settings, "anyway": True} | rest)
    assert answer["ok"], answer
    return answer["connection"]


async def search(plugin, kb="a", **variant):
    """The one column of a search on the page."""
    answer = await say(plugin, "/search", knowledge_base=kb, query=QUESTION, variants=[variant])
    assert answer["ok"], answer
    return answer["columns"][0]


async def retrieved(plugin, kb="a", query=QUESTION):
    """What a pipeline's search comes to: entries, or the error."""
    asked = RetrievalContext(
        query=query,
        knowledge_base_id=kb,
        creation_settings=plugin.bases[kb],
        retrieval_settings={**plugin.retrieval.get(kb, {}), "top_k": 5, "sender_id": "person-9"},
    )
    try:
        return await plugin.engine.retrieve(asked)
    except BridgeError as error:
        return error
