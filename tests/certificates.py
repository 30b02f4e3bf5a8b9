"""Certificates, right and wrong, of an authority that a machine may trust."""

import ssl
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from unittest import mock

import httpx
import trustme


@cache
def authority() -> trustme.CA:
    return trustme.CA()


def trusted() -> AbstractContextManager[Any]:
    """A machine that trusts the authority."""

    def made(verify: Any = True, **_: Any) -> ssl.SSLContext:
        context = ssl.create_default_context()
        authority().configure_trust(context)
        return context

    return mock.patch.object(httpx, "create_ssl_context", made)


def serving(*certificates: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for certificate in certificates:
        certificate.configure_cert(context)
    return context


def right() -> ssl.SSLContext:
    return serving(authority().issue_cert("127.0.0.1"))


def wrong_name() -> ssl.SSLContext:
    return serving(authority().issue_cert("else.test"))


def expired() -> ssl.SSLContext:
    return serving(authority().issue_cert("127.0.0.1", not_after=datetime.now(UTC) - timedelta(days=1)))


def unknown_authority() -> ssl.SSLContext:
    return serving(trustme.CA().issue_cert("127.0.0.1"))


def self_signed() -> ssl.SSLContext:
    own = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with (
        own.cert_pem.tempfile() as certificate,
        own.private_key_pem.tempfile() as key,
    ):
        context.load_cert_chain(certificate, key)
    return context


def old_tls() -> ssl.SSLContext:
    """A service that speaks a cipher no client of today has."""
    context = right()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("NULL-SHA256:@SECLEVEL=0")
    return context
