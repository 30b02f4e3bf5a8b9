"""The only I/O: pooled connections, one deadline, retries, statuses, a cap on size."""

from bridge.http.access import Access
from bridge.http.call import Http
from bridge.http.front import in_front, is_in_front, no_route
from bridge.http.network import Network
from bridge.http.pool import Pool
from bridge.http.reply import Json, Reply
from bridge.http.service import Service

__all__ = ["Access", "Http", "Json", "Network", "Pool", "Reply", "Service", "in_front", "is_in_front", "no_route"]
