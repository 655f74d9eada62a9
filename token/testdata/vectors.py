"""Prints vectors.json. It shares no code with the package: python3 vectors.py > vectors.json"""
import hashlib
import hmac
import json

ALPHABET = "".join(sorted("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"))


def encode(data):
    number = int.from_bytes(data, "big")
    digits = []
    for _ in range(len(data) * 8 // 6):
        number, digit = divmod(number, 64)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def token(secret, key, purpose, id, random, expires):
    body = id.to_bytes(8, "big") + random + expires.to_bytes(6, "big") + bytes([key])
    mac = hmac.new(secret, b"st1_" + body + purpose.encode(), hashlib.sha256).digest()
    return "st1_" + encode(body + mac)


SECRET = bytes(range(32))
OTHER = bytes(range(255, 191, -1))  # 64 bytes, the longest
RANDOM = bytes.fromhex("f0e1d2c3b4a5968778695a4b3c2d1e0f")
rows = [
    ("a session", SECRET, 1, "session", 250000000000000001, RANDOM, 1795564800000),
    ("its neighbour", SECRET, 1, "session", 250000000000000002, RANDOM, 1795564800000),
    ("another purpose", SECRET, 1, "password reset", 250000000000000001, RANDOM, 1795564800000),
    ("a purpose beyond ASCII", SECRET, 1, "größe", 250000000000000001, RANDOM, 1795564800000),
    ("another expiry", SECRET, 1, "session", 250000000000000001, RANDOM, 1795564800001),
    ("another key", OTHER, 255, "session", 250000000000000001, RANDOM, 1795564800000),
    ("the smallest id, random bits of 0", SECRET, 1, "session", 1, bytes(16), 1795564800000),
    ("the largest id, random bits of 1, the last expiry", SECRET, 1, "session", 2**63 - 1, b"\xff" * 16, 2**48 - 1),
]
print(json.dumps([
    {"name": name, "secret": secret.hex(), "key": key, "purpose": purpose, "id": str(id), "random": random.hex(),
     "expires": expires, "text": (text := token(secret, key, purpose, id, random, expires)),
     "hash": hashlib.sha256(text.encode()).hexdigest()}
    for name, secret, key, purpose, id, random, expires in rows
], indent=1, ensure_ascii=False))
