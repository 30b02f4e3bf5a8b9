"""Dify's search methods with their scores, thresholds, reranker and weights."""

from collections import Counter
from collections.abc import Iterable

from sandbox.corpus import Passage
from sandbox.dify.conditions import matches
from sandbox.dify.datasets import EMBEDDING_MODEL, MODEL_PROVIDER, RERANK_MODEL, Dataset
from sandbox.dify.errors import DifyError, invalid_param
from sandbox.dify.payload import RerankingModel, RetrievalModel, SearchMethod, Weights
from sandbox.ranking import Hit, Index, Keep, terms

# PostgreSQL's ts_rank gives about 0.06 to a perfect hit.
_TEXT_RANK = 0.1


def search(index: Index, dataset: Dataset, query: str, model: RetrievalModel) -> list[Hit]:
    """Return the pieces found, in Dify's order; a `DifyError` says what a real server would."""
    conditions = model.metadata_filtering_conditions
    held = dict.fromkeys(passage.document for passage in index.passages if dataset.holds(passage))
    allowed = {document for document in held if matches(conditions, dataset.metadata(document), dataset.id)}
    if conditions is not None and not allowed:
        return []

    def keep(passage: Passage) -> bool:
        return passage.document in allowed

    if model.search_method is SearchMethod.KEYWORD:
        return [] if dataset.has_vectors else _by_keywords(index, query, model.top_k, keep)
    if dataset.embedding is None:
        raise invalid_param(_no_such_table(dataset, model.search_method))
    if model.top_k <= 0:
        raise invalid_param("top_k must be a positive integer")
    _check_model(dataset.embedding)
    if "\0" in query and model.search_method is not SearchMethod.SEMANTIC:
        raise invalid_param("A string literal cannot contain NUL (0x00) characters.")
    if model.search_method is SearchMethod.HYBRID:
        return _hybrid(index, query, model, keep)
    if model.search_method is SearchMethod.FULL_TEXT:
        found = _by_text(index, query, model.top_k, keep)
    else:
        found = _at_least(_floor(model), index.meaning(query, keep))[: model.top_k]
    reranker = _reranker(model)
    if reranker is None or not found:
        return found
    return _best_first(_at_least(_floor(model), _reranked(query, found, reranker)))


def _hybrid(index: Index, query: str, model: RetrievalModel, keep: Keep) -> list[Hit]:
    similar = _at_least(0.0, index.meaning(query, keep))[: model.top_k]
    joined = list(_unique([*similar, *_by_text(index, query, model.top_k, keep)]))
    try:
        if (model.reranking_mode or "reranking_model") == "reranking_model":
            if reranker := _reranker(model):
                return _fused(_reranked(query, joined, reranker), model)
        elif model.reranking_mode == "weighted_score" and model.weights:
            return _fused(_weighted(index, query, joined, model.weights), model)
    except DifyError:
        # Dify loses what goes wrong in a fusion and answers 200 with nothing.
        return []
    return _best_first(_at_least(_floor(model), joined))


def _fused(hits: Iterable[Hit], model: RetrievalModel) -> list[Hit]:
    return _best_first(_at_least(_floor(model), hits))[: model.top_k]


def _by_text(index: Index, query: str, top_k: int, keep: Keep) -> list[Hit]:
    return [hit._replace(score=hit.score * _TEXT_RANK) for hit in index.words(query, keep)[:top_k]]


def _by_keywords(index: Index, query: str, top_k: int, keep: Keep) -> list[Hit]:
    order = {passage.key: row for row, passage in enumerate(index.passages)}
    found = [hit._replace(score=0.0) for hit in index.words(query, keep)[:top_k]]
    return sorted(found, key=lambda hit: order[hit.passage.key])


def _reranker(model: RetrievalModel) -> RerankingModel | None:
    named = model.reranking_model
    if not model.reranking_enable or named is None:
        return None
    return named if named.reranking_provider_name and named.reranking_model_name else None


def _reranked(query: str, hits: Iterable[Hit], reranker: RerankingModel) -> list[Hit]:
    if (reranker.reranking_provider_name, reranker.reranking_model_name) != (MODEL_PROVIDER, RERANK_MODEL):
        raise invalid_param(f"Provider {reranker.reranking_provider_name} does not exist.")
    wanted = Counter(terms(query))
    return [hit._replace(score=(wanted & Counter(terms(hit.piece))).total() / max(1, wanted.total())) for hit in hits]


def _weighted(index: Index, query: str, hits: Iterable[Hit], weights: Weights) -> list[Hit]:
    vector, keyword = weights.vector_setting, weights.keyword_setting
    if vector is None or keyword is None:
        raise invalid_param("weights are incomplete")
    _check_model((vector.embedding_provider_name or MODEL_PROVIDER, vector.embedding_model_name or EMBEDDING_MODEL))
    words = {hit.piece: hit.score for hit in index.words(query)}
    return [
        hit._replace(score=vector.vector_weight * hit.score + keyword.keyword_weight * words.get(hit.piece, 0.0))
        for hit in hits
    ]


def _check_model(embedding: tuple[str, str]) -> None:
    if embedding != (MODEL_PROVIDER, EMBEDDING_MODEL):
        raise invalid_param(f"Provider {embedding[0]} does not exist.")


def _floor(model: RetrievalModel) -> float:
    return (model.score_threshold or 0.0) if model.score_threshold_enabled else 0.0


def _at_least(floor: float, hits: Iterable[Hit]) -> list[Hit]:
    return [hit for hit in hits if hit.score >= floor]


def _best_first(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: hit.score, reverse=True)


def _unique(hits: Iterable[Hit]) -> Iterable[Hit]:
    best: dict[str, Hit] = {}
    for hit in hits:
        if hit.piece not in best or hit.score > best[hit.piece].score:
            best[hit.piece] = hit
    return best.values()


def _no_such_table(dataset: Dataset, method: SearchMethod) -> str:
    table = f"embedding_vector_index_{dataset.id.replace('-', '_')}_nod"
    if method is SearchMethod.FULL_TEXT:
        quoted, marker = f"LINE 2:                     FROM {table[:39]}...", 33
    else:
        quoted, marker = "LINE 1: ...70496115, 0.011276601870496115]' AS distance FROM embedding_...", 61
    return f'relation "{table}" does not exist\n{quoted}\n{" " * marker}^\n'
