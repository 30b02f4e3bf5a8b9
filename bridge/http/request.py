"""A request, ready to be sent, also a second time."""

from typing import NamedTuple

import httpcore

from bridge.http.lane import Target


class Request(NamedTuple):
    """What is sent, and where to."""

    target: Target
    sent: httpcore.Request

    def with_slash(self) -> "Request":
        """The same request with a slash at the end of its path."""
        sent, url = self.sent, self.target.url
        path, mark, query = url.target.partition(b"?")
        url = httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=path + b"/" + mark + query)
        again = httpcore.Request(
            sent.method, url, headers=sent.headers, content=sent.stream, extensions=sent.extensions
        )
        return Request(self.target._replace(url=url, path=f"{self.target.path}/"), again)
