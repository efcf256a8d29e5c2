"""The key pair of a client that logs in, to which the hub encrypts what it gives."""

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PRIVATE_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey) -> str:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
