"""Certificates and proxies."""

from tests.certificates import expired, old_tls, right, self_signed, trusted, unknown_authority, wrong_name
from tests.faults.answers import answering, good, page
from tests.faults.fault import AWAY, ODD, ONCE, WORKS, Fault
from tests.faults.places import by_proxy, no_proxy, plain_behind_https
from tests.service import reset

TLS = [
    Fault("a certificate of a trusted authority", answering(good, tls=right), WORKS, 1, around=trusted),
    Fault("certificate of an unknown authority", answering(good, tls=unknown_authority), AWAY, 0, says="certificate"),
    Fault("self-signed certificate", answering(good, tls=self_signed), AWAY, 0, says="self.signed certificate"),
    Fault("expired certificate", answering(good, tls=expired), AWAY, 0, around=trusted, says="expired"),
    Fault(
        "certificate of another name",
        answering(good, tls=wrong_name),
        AWAY,
        0,
        around=trusted,
        says="certificate .*127.0.0.1",
    ),
    Fault("no cipher in common", answering(good, tls=old_tls), AWAY, 0, around=trusted, says="TLS failed"),
    Fault("https at a plain http port", plain_behind_https, AWAY, 0, says="TLS failed"),
]
PROXIES = [
    Fault(
        f"{scheme} by a proxy {what}",
        place,
        AWAY,
        requests,
        differs,
        patient=what == "that is not there",
        around=trusted,
        says=says,
    )
    for scheme in ("http", "https")
    for what, place, requests, differs, says in (
        ("that answers 407", by_proxy(scheme, page(407)), 1, {}, "proxy refused .*proxy_url"),
        ("that answers 502", by_proxy(scheme, page(502)), 3, ONCE if scheme == "http" else {}, ""),
        ("that resets", by_proxy(scheme, lambda _: reset()), 3, ONCE, ""),
        ("that is not there", no_proxy(scheme), 0, {}, "proxy_url"),
    )
] + [
    Fault(
        "http by a proxy that answers 403",
        by_proxy("http", page(403, Server="squid/6.13")),
        ODD,
        1,
        says=r"proxy_url.*\(squid\)",
    )
]
