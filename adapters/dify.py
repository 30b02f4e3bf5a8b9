"""Dify: knowledge retrieval over its service API.

POST /datasets/{id}/retrieve, GET /datasets/{id}; seen on 1.9.2, 1.12.1, 1.13.3 and 1.14.2.
"""

import re
from typing import Any, ClassVar, Literal

from adapters.backend import Backend, Failure, Options
from adapters.who import Forms
from bridge.errors import (
    AuthError,
    NotFoundError,
    RateLimitedError,
    ResponseError,
    Retry,
    SettingsError,
    UnavailableError,
)
from bridge.filters import DIFY_WORDS, Filter
from bridge.hits import Hit, read_each, side_by_side
from bridge.http import Http, Reply
from bridge.question import Question
from bridge.values import filled, joined, mapping, number, text

DATASET_KEPT = 60.0
"""Seconds after which a dataset's own settings are looked up again, beside a search."""
VECTOR_WEIGHT = 0.7
"""Dify's own share of meaning in a weighted hybrid search."""
_KEY = "Use a key of Knowledge > Service API (dataset-...), not one of an app"
_MODELS = "Check the dataset's embedding and rerank models and the vector store in Dify"
_OURS = r"400 bad_request|400 \w* ?(\d+ validation error|Query |Input payload)"
_INSIDE = "the search failed inside Dify"
_LOOK_UP = "the look-up of the dataset's settings failed"
_NO_LOOK_UP = "Set search_mode to semantic or full_text (and rerank_model), which need none; or read Dify's log"
_UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_FAILURES = (
    Failure("401", AuthError, "the API key was refused", _KEY),
    Failure("403.*rate limit", RateLimitedError, "the workspace's rate limit is reached", "Wait at least 60 s"),
    Failure("403.*not enabled", AuthError, "API access is off", "Switch on Service API access of this dataset in Dify"),
    Failure("403", AuthError, "the key may not read this dataset", "Use a key of the dataset's own workspace"),
    Failure("404 page .", NotFoundError, "no dataset or API here", "Check dataset_id and api_base_url (ends in /v1)"),
    Failure("404 page", NotFoundError, "that is not Dify's API", "Set api_base_url to the API's address (ends in /v1)"),
    Failure("404", NotFoundError, "the dataset was not found", "Check dataset_id, and whose key api_key is"),
    Failure(r"400 look-up \w* \d+ validation error", ResponseError, _LOOK_UP, _NO_LOOK_UP),
    Failure("400 look-up|500 look-up internal", UnavailableError, _LOOK_UP, _NO_LOOK_UP, Retry(tries=2)),
    Failure(_OURS, ResponseError, "the request was not accepted", "Please report this with Dify's version"),
    Failure(
        "400.*relation .* not exist", ResponseError, "an economy or empty dataset", "Set search_mode to auto or keyword"
    ),
    Failure("400 (dataset_not_init|provider_|model_currently)", UnavailableError, _INSIDE, _MODELS, inside=True),
    Failure("400", UnavailableError, _INSIDE, _MODELS, Retry(tries=2), inside=True),
    Failure(r"500 \w+ '", ResponseError, "the request was not understood", "Check that the dataset is no external one"),
    Failure("500", UnavailableError, "Dify failed", "Read Dify's own log", Retry(tries=2), inside=True),
)
"""Contract of 1.9.2 to 1.14.2: a 400 that is none of ours is a passing fault of a model or the vector store."""


class DifyOptions(Options):
    """How to search in Dify."""

    modes: ClassVar[dict[str, str]] = {
        "semantic": "semantic_search",
        "full_text": "full_text_search",
        "hybrid": "hybrid_search",
        "keyword": "keyword_search",
    }
    offers: ClassVar[frozenset[str]] = frozenset({"rerank", "rerank_model", "vector_weight"})


class Dify(Backend):
    """A Dify workspace's datasets, searched with a key of its service API."""

    product: ClassVar[str] = "Dify"
    address_tail: ClassVar[str] = rf"(/v1)?/datasets(/({_UUID}(/.*)?|create|connect))?$|^/(console/)?api(/v1)?$|/v1$"
    dataset_pattern: ClassVar[str] = f"(?i){_UUID}"
    dataset_hint: ClassVar[str] = "copy the id (with its hyphens) out of the dataset's page address in Dify"
    query_limit: ClassVar[int] = 250
    version_header: ClassVar[str] = "x-version"
    forms: ClassVar[Forms] = Forms(
        own=r" code:text( message:\S+)?( params:\S+)?( status:\d+)?;| errors:\S+ message:text;|; .*x-version",
        marks=r" code:text message:text status:\d+;| page; .*x-version| query:\{content\} records:list;",
    )
    failures: ClassVar[tuple[Failure, ...]] = _FAILURES

    backend: Literal["dify"] = "dify"
    options: DifyOptions = DifyOptions()

    def _address(self) -> str:
        return super()._address().replace("://cloud.dify.ai", "://api.dify.ai")  # the page's address, and its API's

    async def search(self, question: Question, http: Http) -> list[Hit]:
        async def one(dataset: str) -> list[Hit]:
            model = await self._retrieval_model(dataset, question.where, http)
            answer = await http.post(
                f"/v1/datasets/{dataset}/retrieve", {"query": question.text, "retrieval_model": model}
            )
            return _hits(answer, model, dataset, http, self.enough(question))

        return await side_by_side(self.dataset_id, one)

    async def describe(self, http: Http) -> list[str]:
        lines = []
        for dataset in self.dataset_id:
            info = await self._dataset(dataset, http)
            saved = mapping(info.get("retrieval_model_dict"))
            lines.append(
                f"{text(info.get('name')) or dataset}: {text(info.get('indexing_technique')) or 'empty'}, "
                f"{text(info.get('doc_form')) or 'no documents yet'}, {info.get('document_count', 0)} documents, "
                f"searched by {text(saved.get('search_method')) or 'semantic_search'}"
            )
        return lines

    def gist(self, reply: Reply) -> str:
        told = super().gist(reply)
        return told.replace(" ", " look-up ", 1) if re.search("/datasets/[^/]+$", reply.path) else told

    async def _dataset(self, dataset: str, http: Http) -> dict[str, Any]:
        info = mapping(await http.get(f"/v1/datasets/{dataset}", keep=DATASET_KEPT))
        if info.get("provider") == "external":
            raise SettingsError(
                "dataset_id is an external knowledge base, which Dify's API can't search",
                "Connect the server behind it with backend external_knowledge",
            )
        return info

    async def _retrieval_model(self, dataset: str, where: Filter, http: Http) -> dict[str, Any]:
        """The eight fields of a retrieval_model: the dataset's own, changed by what the options ask for."""
        options, mode = self.options, self.options.search_mode
        needs_own = mode in ("auto", "hybrid") or (options.rerank and not options.rerank_model)
        info = await self._dataset(dataset, http) if needs_own else {}
        saved = mapping(info.get("retrieval_model_dict"))
        model = {
            "search_method": text(saved.get("search_method")) or "semantic_search",
            "reranking_enable": saved.get("reranking_enable") is True,
            "reranking_mode": saved.get("reranking_mode"),
            "reranking_model": mapping(saved.get("reranking_model")) or _no_model(),
            "weights": mapping(saved.get("weights")) or None,
            "top_k": options.top_k,
            "score_threshold_enabled": saved.get("score_threshold_enabled") is True,
            "score_threshold": saved.get("score_threshold"),
        }
        if mode != "auto":
            model |= {"search_method": options.modes[mode], "score_threshold_enabled": False, "score_threshold": None}
        if options.score_threshold:
            model |= {"score_threshold_enabled": True, "score_threshold": options.score_threshold}
        model |= self._ranking(model, info)
        if where.conditions:
            conditions = where.spoken(DIFY_WORDS)
            model["metadata_filtering_conditions"] = {"logical_operator": where.logic, "conditions": conditions}
        return model

    def _ranking(self, model: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
        """How hits are ranked: by a reranker, by weights, or as the dataset has it."""
        options = self.options
        if options.rerank:
            if model["search_method"] == "keyword_search":
                raise SettingsError(
                    "rerank is not available with keyword search",
                    "Switch rerank off, or use search_mode semantic or hybrid",
                )
            named = _model_of(options.rerank_model) if options.rerank_model else model["reranking_model"]
            if all(named.get(name) for name in _no_model()):
                return {
                    "reranking_enable": True,
                    "reranking_mode": "reranking_model",
                    "reranking_model": named,
                    "weights": None,
                }
            if not (model["reranking_mode"] == "weighted_score" and model["weights"]):
                raise SettingsError(
                    "rerank needs a model and the dataset has none saved",
                    "Set rerank_model to provider/name, or save a reranker in the dataset's retrieval settings",
                )
        if options.vector_weight is not None:
            return _weighted(_weights(options.vector_weight, info))
        if options.search_mode == "auto":
            return {}
        if options.search_mode == "hybrid":
            # without a fusion Dify joins two lists of different scales
            own = model["weights"] if model["reranking_mode"] == "weighted_score" else None
            return _weighted(own or _weights(VECTOR_WEIGHT, info))
        return {"reranking_enable": False, "reranking_mode": None, "reranking_model": _no_model(), "weights": None}


def _no_model() -> dict[str, str]:
    return {"reranking_provider_name": "", "reranking_model_name": ""}


def _model_of(name: str) -> dict[str, str]:
    """`provider/name`; the provider may have slashes of its own (langgenius/cohere/cohere/rerank-v3)."""
    provider, slash, model = name.rpartition("/")
    if not slash or not provider or not model:
        raise SettingsError("rerank_model must be provider/name", "Write it like langgenius/cohere/cohere/rerank-v3.5")
    return {"reranking_provider_name": provider, "reranking_model_name": model}


def _weights(vector_weight: float, info: dict[str, Any]) -> dict[str, Any]:
    return {
        "weight_type": "customized",
        "vector_setting": {
            "vector_weight": vector_weight,
            "embedding_provider_name": text(info.get("embedding_model_provider")),
            "embedding_model_name": text(info.get("embedding_model")),
        },
        "keyword_setting": {"keyword_weight": round(1 - vector_weight, 6)},
    }


def _weighted(weights: dict[str, Any]) -> dict[str, Any]:
    return {
        "search_method": "hybrid_search",
        "reranking_enable": False,
        "reranking_mode": "weighted_score",
        "reranking_model": _no_model(),
        "weights": weights,
    }


def _hits(answer: Any, model: dict[str, Any], dataset: str, http: Http, enough: int | None) -> list[Hit]:
    if not isinstance(mapping(answer).get("records"), list):
        raise ResponseError(f"the answer has no records ({http.seen(answer)})", "Check Dify's version")
    measure = _measure(model)
    hits = read_each(answer["records"], lambda record: _hit(record, measure, dataset), http, enough)
    if not measure or (measure == "text_rank" and not any(hit.score for hit in hits)):
        for hit in hits:
            hit.score = None  # keyword search, and vector stores that pass no rank on
            hit.metadata.pop("measure", None)
    return hits


def _measure(model: dict[str, Any]) -> str:
    """What Dify's score is for such a search; empty where it is none."""
    reranked = model["reranking_enable"] and model["reranking_mode"] != "weighted_score"
    match model["search_method"]:
        case "keyword_search":
            return ""
        case _ if reranked and mapping(model["reranking_model"]).get("reranking_model_name"):
            return "rerank"
        case "full_text_search":
            return "text_rank"
    return "similarity"


def _hit(record: dict[str, Any], measure: str, dataset: str) -> Hit:
    segment = mapping(record.get("segment"))
    document = mapping(segment.get("document"))
    question, answer = text(segment.get("content")), text(segment.get("answer"))
    return Hit(
        id=text(segment.get("id")),
        text=joined(question, answer),
        score=number(record.get("score")),
        metadata=filled(
            document_name=text(document.get("name")),
            document_id=text(document.get("id")) or text(segment.get("document_id")),
            dataset_id=dataset,
            position=segment.get("position"),
            measure=measure,
            document_metadata=mapping(document.get("doc_metadata")),
            data_source_type=document.get("data_source_type"),
            keywords=segment.get("keywords"),
            answer=answer,
            summary=record.get("summary"),
            child_chunks=record.get("child_chunks"),
            files=record.get("files"),
        ),
    )
