"""Any server of Dify's external knowledge API: POST {address}/retrieval. Known from its documentation and servers' code."""

from typing import Any, ClassVar, Literal

from pydantic import SecretStr

from adapters.backend import Backend, Failure
from adapters.who import Forms
from bridge.errors import AuthError, NotFoundError, ResponseError, Retry, SettingsError, UnavailableError
from bridge.filters import DIFY_WORDS
from bridge.hits import Hit, read_each, side_by_side
from bridge.http import Http, Reply
from bridge.question import Question
from bridge.settings import Key
from bridge.values import digest, filled, first, link_in, mapping, number, text

_FAILURES = (
    Failure(r"\d+ (1001|1002|109)\b|40[13]", AuthError, "the API key was refused", "Check api_key"),
    Failure(
        "404 page", NotFoundError, "no external knowledge API here", "Set api_base_url to what stands before /retrieval"
    ),
    Failure(r"\d+ 2001\b|404", NotFoundError, "the knowledge was not found", "Check dataset_id"),
    Failure(
        r"(?s)(2\d\d|400|422) .*(?i:requir|missing|not provided)",
        SettingsError,
        "the route wants another argument",
        "Check that api_base_url leads to an external knowledge route, then dataset_id",
    ),
    Failure("400|422", SettingsError, "the request was not accepted", "Check dataset_id and filters"),
    Failure(
        "500 page", UnavailableError, "the server failed without a word", "Check api_key, then its log", Retry(tries=2)
    ),
    Failure(
        r"500|2\d\d \d", UnavailableError, "the search failed inside the server", "Read its own log", Retry(tries=2)
    ),
)


class ExternalKnowledge(Backend):
    """One or several knowledge ids of a server that speaks the protocol, searched as the server does."""

    product: ClassVar[str] = "External Knowledge"
    address_tail: ClassVar[str] = "/retrieval$"
    filter_hint: ClassVar[str] = "Filter by a field that the server returns in a record's metadata"
    forms: ClassVar[Forms] = Forms(
        own=r" error_code:| detail:| code:\S+ (data:\S+ )?message:text;|(401|403|500) words;|500 page;",
        marks=r" error_code:\d+ error_msg:text;",
        loose=True,  # the protocol's form of an error is a convention
    )
    failures: ClassVar[tuple[Failure, ...]] = _FAILURES

    backend: Literal["external_knowledge"] = "external_knowledge"
    api_key: Key = SecretStr("")

    @property
    def takes_own_query(self) -> bool:
        return True

    async def search(self, question: Question, http: Http) -> list[Hit]:
        async def one(knowledge: str) -> list[Hit]:
            answer = await http.post("/retrieval", self._payload(question, knowledge))
            if "records" not in mapping(answer):
                raise ResponseError(f"the answer has no records ({http.seen(answer)})", "Check api_base_url")
            return read_each(
                answer["records"], lambda record: _hit(record, knowledge), http, ("content",), self.enough(question)
            )

        return await side_by_side(self.dataset_id, one)

    def accepts(self, reply: Reply) -> bool:
        answer = mapping(reply.data)
        return super().accepts(reply) and ("records" in answer or not answer.keys() & {"error_code", "code"})

    def _payload(self, question: Question, knowledge: str) -> dict[str, Any]:
        options, where = self.options, question.where
        condition = {
            "logical_operator": where.logic,
            "logic": where.logic,  # RAGFlow's server reads this name
            "conditions": where.spoken(DIFY_WORDS),
        }
        return {
            "knowledge_id": knowledge,
            "query": question.text,
            "retrieval_setting": {"top_k": options.top_k, "score_threshold": options.score_threshold},
            **({"metadata_condition": condition} if where.conditions else {}),
        }


def _hit(record: dict[str, Any], knowledge: str) -> Hit:
    content, title, document = text(record.get("content")), text(record.get("title")), mapping(record.get("metadata"))
    link = link_in(document)
    return Hit(
        id=first(document, "chunk_id", "segment_id", "id") or digest(knowledge, title, content),
        text=content,
        score=number(record.get("score")),
        metadata=filled(
            document_name=title or link,
            document_id=document.get("document_id") or document.get("doc_id"),
            dataset_id=knowledge,
            measure="similarity",
            document_metadata=document,
            url=link,
        ),
    )
