"""How a partition key is named where keys are not shown."""

from hashlib import sha256


def digest_number(key: str) -> int:
    """The first 64 bits of the key's SHA-256."""
    return int.from_bytes(sha256(key.encode()).digest()[:8], "big")


def digest_of(key: str) -> str:
    """How a key is named in files that do not show keys."""
    return f"sha256:{digest_number(key):016x}"
