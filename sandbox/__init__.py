"""Imitations of the retrieval services on 127.0.0.1 over one small made-up corpus."""
