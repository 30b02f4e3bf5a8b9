"""What a retrieval costs beside a bare httpx call, in the same run: `uv run python -m benchmarks`."""
