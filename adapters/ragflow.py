"""RAGFlow: POST /api/v1/retrieval, GET /api/v1/datasets. Run against v0.24.0 and v0.27.0; read from v0.13 on."""

from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from adapters.backend import Backend, Failure
from adapters.options import Options
from adapters.who import Forms
from bridge.datasets import PAGE_SIZE, Dataset, paged, told
from bridge.errors import AuthError, NotFoundError, ResponseError, Retry, SettingsError, UnavailableError
from bridge.filters import DIFY_WORDS, Filter
from bridge.hits import Hit, read_each
from bridge.http import Http, Reply
from bridge.links import absolute
from bridge.question import Question
from bridge.values import counted, filled, first, link_in, mapping, number, text, worst_last

_KEY = "Use an API key of the RAGFlow user who owns the datasets"
_OWNER = "Check dataset_id, and that api_key belongs to its owner or team"
_MODELS = "Check the embedding, rerank and chat models in RAGFlow, and rerank_model here"
_INSIDE = "the search failed inside RAGFlow"
_REPORT = "Please report this with RAGFlow's version"
_UNKNOWN = "200 10[12] .*own the d|200 10[128] .*(lacks permission|UUID)"
_NO_MODEL = r"200 100 (LookupError|Exception\('No default|.*not authorized)"
_OURS = "200 10[12]|200 100 (<|ValueError|TypeError|KeyError|AttributeError)"
_NOTHING_INDEXED = "No chunk found"
_PAGES = ("/v1/document/", "/api/v1/document")
"""Where RAGFlow serves documents and pictures, the first up to 0.25."""
_FAILURES = (
    Failure("401 401 <", AuthError, "the API key was refused", _KEY, Retry(tries=2)),  # or its database is away
    Failure("401 109|200 109|403 ", AuthError, "the API key was refused", _KEY),
    Failure("200 0 false", AuthError, "the API key was not accepted", _KEY),
    Failure("401 401 Unauthorized$", UnavailableError, "a model provider refused RAGFlow's own key", _MODELS),
    Failure(_UNKNOWN, NotFoundError, "no such dataset or document", _OWNER),
    Failure(
        "200 102 .*embedding model", SettingsError, "dataset_id mixes embedding models", "Make a knowledge base each"
    ),
    Failure(_NO_MODEL, SettingsError, "a model is missing", _MODELS),
    Failure(_OURS, ResponseError, "the request failed", _REPORT, inside=True),
    Failure("200 1", UnavailableError, _INSIDE, "Read RAGFlow's own log", Retry(tries=2), inside=True),
    Failure(
        "404", NotFoundError, "no RAGFlow API here", "Set api_base_url to RAGFlow's address, like http://host:9380"
    ),
)
_PASSAGES = ("content", "content_with_weight")
_ROUTES = "dataset|datasets|file|files|chunk|testing|configuration|logs|(dataset|data-source)-[a-z-]+|knowledge-?graph"
_TAIL = rf"/api(/v1(/(retrieval|datasets(/.*)?))?)?$|/(datasets?|knowledge)(/({_ROUTES}|[0-9a-f]{{32}}))+$|^/(v1|datasets?|knowledge)$"
_WORDS = {**DIFY_WORDS, "ne": ("≠", "≠")}


class RAGFlowOptions(Options):
    """How to search in RAGFlow."""

    modes: ClassVar[dict[str, str]] = {"semantic": "1", "full_text": "0", "hybrid": ""}
    """Fixed vector_similarity_weight, empty for the service's own."""
    offers: ClassVar[frozenset[str]] = frozenset(Options.OPTIONAL) - {"token_limit"}

    @model_validator(mode="after")
    def _reranker(self) -> Self:
        if self.rerank and not self.rerank_model:
            raise ValueError("rerank needs rerank_model; set it to the model's name in RAGFlow, like name@provider")
        return self


class RAGFlow(Backend):
    """Datasets of a RAGFlow server that have one embedding model."""

    product: ClassVar[str] = "RAGFlow"
    address_tail: ClassVar[str] = _TAIL
    dataset_pattern: ClassVar[str] = r"(?i)(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])"
    dataset_hint: ClassVar[str] = "copy the 32 digits out of the dataset's page address in RAGFlow"
    filter_hint: ClassVar[str] = "Filter by document_id, or update RAGFlow: it returns metadata from 0.25.3 on"
    lists: ClassVar[bool] = True
    forms: ClassVar[Forms] = Forms(
        own=r" code:\d+( data:(\w+|\{[^}]*\}))?( error:text)?( message:(text|null))?;",
        marks=r" code:(10\d|40\d|500) data:(null|false) (error:text )?message:text;| code:10\d message:text;"
        r"| data:\{chunks doc_aggs",
    )
    failures: ClassVar[tuple[Failure, ...]] = _FAILURES

    backend: Literal["ragflow"] = "ragflow"
    options: RAGFlowOptions = RAGFlowOptions()

    async def search(self, question: Question, http: Http) -> list[Hit]:
        answer = await http.post("/api/v1/retrieval", self._payload(question))
        if mapping(answer).get("code") != 0:  # the one failure that is accepted
            http.note("RAGFlow has nothing indexed for this user yet; parse the documents there")
            return []
        data = mapping(mapping(answer).get("data"))
        chunks = data.get("chunks")
        if "chunks" not in data:
            raise ResponseError(f"the answer has no chunks ({http.seen(answer)})", "Check RAGFlow's version")
        options = self.options
        if isinstance(chunks, list) and not options.use_knowledge_graph:  # its entry stands first whatever its score
            chunks = sorted(chunks, key=lambda chunk: worst_last(mapping(chunk).get("similarity")))
        measure = "rerank" if options.rerank else "text_rank" if options.search_mode == "full_text" else "similarity"
        return read_each(chunks, lambda chunk: self._hit(chunk, measure), http, _PASSAGES, self.enough(question))

    async def describe(self, http: Http) -> list[str]:
        answers = [await http.get("/api/v1/datasets", {"id": dataset}) for dataset in self.dataset_id]
        found = [mapping(item) for answer in answers for item in mapping(answer).get("data") or ()]
        return [f"{one.name}: {one.line}" for one in map(_dataset, found) if one.name]

    async def datasets(self, http: Http) -> list[Dataset]:
        async def ask(page: int) -> Any:
            return await http.get("/api/v1/datasets", {"page": str(page), "page_size": str(PAGE_SIZE)})

        return await paged(ask, _dataset, http, "total_datasets")

    def accepts(self, reply: Reply) -> bool:
        answer = mapping(reply.data)
        good = answer.get("code") == 0 and isinstance(answer.get("data"), dict | list)
        return reply.status == 200 and (good or _NOTHING_INDEXED in self.words(answer))

    def gist(self, reply: Reply) -> str:
        return (
            "200 0 false"
            if mapping(reply.data).get("data") is False and reply.data.get("code") == 0
            else super().gist(reply)
        )

    def _payload(self, question: Question) -> dict[str, Any]:
        options = self.options
        weight = options.modes.get(options.search_mode) or options.vector_weight
        return {
            "question": question.text,
            "dataset_ids": list(self.dataset_id),
            "page": 1,
            "page_size": options.top_k,
            "top_k": options.candidates,
            "similarity_threshold": options.score_threshold,
            "reference_metadata": {"include": True},
            **filled(
                vector_similarity_weight=None if weight is None else float(weight),
                rerank_id=options.rerank_model if options.rerank else "",
                keyword=options.expand_query or None,
                use_kg=options.use_knowledge_graph or None,
                cross_languages=list(options.cross_languages),
                **_conditions(question.where),
            ),
        }

    def _hit(self, chunk: dict[str, Any], measure: str) -> Hit:
        image = first(chunk, "image_id", "img_id")
        document = mapping(chunk.get("document_metadata"))
        hit = Hit(
            id=first(chunk, "id", "chunk_id"),
            text=absolute(first(chunk, "content", "content_with_weight"), self.api_base_url, _PAGES),
            score=number(chunk.get("similarity")),
            metadata=filled(
                document_name=first(chunk, "document_keyword", "docnm_kwd", "document_name"),
                document_id=chunk.get("document_id") or chunk.get("doc_id"),
                dataset_id=chunk.get("dataset_id") or chunk.get("kb_id"),
                measure=measure,
                document_metadata=document,
                url=link_in(document),
                image_id=image,
                image_url=f"{self.api_base_url}/api/v1/documents/images/{image}" if image else "",
            ),
        )
        for name in _KEPT:
            if (value := chunk.get(name)) or value == 0:
                hit.metadata[name] = value
        return hit


def _dataset(info: dict[str, Any]) -> Dataset:
    model, chunks = text(info.get("embedding_model")), info.get("chunk_count")
    return Dataset(
        text(info.get("id")),
        text(info.get("name")),
        told(counted(chunks, "chunk"), model),
        "empty: nothing is parsed yet" if chunks == 0 else "",
        group=model or "no embedding model",
    )


_KEPT = (
    "vector_similarity",
    "term_similarity",
    "positions",
    "important_keywords",
    "tag_kwd",
    "doc_type_kwd",
    "highlight",
    "mom_id",
)


def _conditions(where: Filter) -> dict[str, Any]:
    """document_ids and metadata_condition; with ids set RAGFlow doesn't look at the condition, so the re-check has to."""
    ids = [c for c in where.conditions if c.field == "document_id"]
    if not ids:
        return {
            "metadata_condition": {"logic": where.logic, "conditions": where.spoken(_WORDS)}
            if where.conditions
            else None
        }
    if where.logic == "or" or len(ids) > 1 or ids[0].operator not in ("eq", "in"):
        raise SettingsError("filters: document_id takes one $eq or $in, outside $or", "Filter by document_id alone")
    value = ids[0].value
    return {"document_ids": value if isinstance(value, list) else [value]}
