"""A detached signature with an Ed25519 key, in the format of ``ssh-keygen -Y``.

Stewards have such keys, and ``ssh-keygen -Y verify`` checks the signature where this program is not installed:

    ssh-keygen -Y verify -f allowed_signers -I ana -n delta-explorer -s report.html.sig < report.html

In: a file's bytes, and a key as OpenSSH or PEM text.
Out: the signature as armoured text; and whether one fits a file, by which key, under which name that key is trusted.
Always: the signature is of every byte of the file; it has one form, so that one with any byte changed is refused; no
error repeats a key or a passphrase.

Format: PROTOCOL.sshsig of OpenSSH. The arithmetic is that of the ``cryptography`` package, which the extra ``sign``
brings.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from explorer.core.errors import EngineUnavailable, RequestError
from explorer.report.document import Signer

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NAMESPACE: Final = "delta-explorer"
"""What a signature is for, so that it counts for nothing else."""

_MAGIC: Final = b"SSHSIG"
_KIND: Final = b"ssh-ed25519"
_HASHES: Final = (b"sha512", b"sha256")
_OPENS: Final = "-----BEGIN SSH SIGNATURE-----"
_CLOSES: Final = "-----END SSH SIGNATURE-----"
_LINE: Final = 70


class SigningKey:
    """A private key."""

    def __init__(self, key: Ed25519PrivateKey, comment: str = "") -> None:
        self._key = key
        self._public = _string(_KIND) + _string(key.public_key().public_bytes_raw())
        self.signer = Signer(fingerprint=fingerprint(self._public), comment=comment)

    def named_by(self, public: bytes) -> SigningKey:
        """Return the key with the comment of a public key as OpenSSH writes it, if that is its other half."""
        kind, _, rest = public.partition(b" ")
        text, _, comment = rest.partition(b" ")
        if kind != _KIND or text.strip() != base64.b64encode(self._public):
            return self
        return SigningKey(self._key, " ".join(comment.decode(errors="replace").split()))

    def sign(self, data: bytes) -> bytes:
        """Return the signature of a file's bytes."""
        signed = self._key.sign(_signed(data, _HASHES[0], NAMESPACE.encode()))
        blob = (
            _MAGIC
            + struct.pack(">I", 1)
            + _string(self._public)
            + _string(NAMESPACE.encode())
            + _string(b"")
            + _string(_HASHES[0])
            + _string(_string(_KIND) + _string(signed))
        )
        return _armoured(blob)


class TrustedKey(msgspec.Struct, frozen=True):
    """A public key, as OpenSSH writes it in binary, and the name of its owner."""

    public: bytes
    name: str


class Signature(msgspec.Struct, frozen=True):
    """A signature: the public key that it names, the hash, and the 64 bytes."""

    public: bytes
    hash_name: bytes
    signed: bytes

    @property
    def fingerprint(self) -> str:
        """The key's fingerprint as ``ssh-keygen -l`` shows it."""
        return fingerprint(self.public)

    def fits(self, data: bytes) -> bool:
        """Return whether the key that the signature names signed these bytes.

        Raises:
            EngineUnavailable: The package ``cryptography`` is missing.
        """
        _require()
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        key = Ed25519PublicKey.from_public_bytes(_Reader(self.public).after(_KIND))
        try:
            key.verify(self.signed, _signed(data, self.hash_name, NAMESPACE.encode()))
        except InvalidSignature:
            return False
        return True

    def owner(self, trusted: Sequence[TrustedKey]) -> str | None:
        """Return the name under which the key is trusted; None if it is not."""
        return next((key.name for key in trusted if key.public == self.public), None)


def fingerprint(public: bytes) -> str:
    """Return the fingerprint of a public key in binary."""
    digest = base64.b64encode(hashlib.sha256(public).digest()).decode().rstrip("=")
    return f"SHA256:{digest}"


def read_key(data: bytes, passphrase: bytes | None) -> SigningKey:
    """Read a private key, OpenSSH's or PEM.

    Raises:
        RequestError: It is not an Ed25519 private key; or it is encrypted, and the passphrase is missing or wrong: the
            field is then ``passphrase``.
        EngineUnavailable: A package is missing.
    """
    _require()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data else load_pem_private_key
    try:
        key = load(data, passphrase)
    except TypeError as error:
        raise RequestError(
            "The key is encrypted and needs its passphrase, or a passphrase was provided for a key without one.",
            field="passphrase",
        ) from error
    except UnsupportedAlgorithm as error:
        if b"OPENSSH PRIVATE KEY" in data and "bcrypt" in str(error):
            raise _missing("bcrypt") from error
        raise _no_key() from error
    except ValueError as error:
        if passphrase is not None:
            raise RequestError(
                "The passphrase does not match the key, or the key is damaged.", field="passphrase"
            ) from error
        raise _no_key() from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key()
    return SigningKey(key)


def read_signature(data: bytes) -> Signature:
    """Read a signature.

    Raises:
        RequestError: It is none, is of another kind or for another purpose, or any byte of its text was changed.
    """
    try:
        lines = data.decode("ascii").splitlines()
        blob = base64.b64decode("".join(lines[1:-1]), validate=True)
        reader = _Reader(blob)
        reader.expect(_MAGIC + struct.pack(">I", 1))
        public, namespace, reserved, hash_name, signed = (reader.string() for _ in range(5))
        reader.end()
        signature = Signature(public, hash_name, _Reader(signed).after(_KIND))
        _Reader(public).after(_KIND)
    except (UnicodeDecodeError, binascii.Error, ValueError) as error:
        raise RequestError(
            f"The signature cannot be read: {error}. Use a signature of an Ed25519 key, as written by delta-explorer "
            "audit --sign or ssh-keygen -Y sign."
        ) from error
    if namespace != NAMESPACE.encode() or reserved or hash_name not in _HASHES:
        raise RequestError(
            f"The signature is for another purpose: its namespace is {namespace.decode('ascii', 'replace')!r} and must "
            f"be {NAMESPACE!r}.",
            found=namespace.decode("ascii", "replace"),
            expected=NAMESPACE,
        )
    if _armoured(blob) != data:
        raise RequestError("The text of the signature was changed: it differs from its canonical form.")
    return signature


def read_trusted(data: bytes, name: str) -> tuple[TrustedKey, ...]:
    """Read whom to trust: a public key in PEM, one as in ``id_ed25519.pub``, or a file of allowed signers.

    Lines of other kinds of keys are left out. Of the options of allowed signers only ``namespaces`` is known; a line
    with another is refused, so that no condition is overlooked.

    Raises:
        RequestError: It contains no Ed25519 key.
    """
    if b"-----BEGIN" in data:
        return (TrustedKey(_pem_public(data, name), name),)
    try:
        lines = [line.strip() for line in data.decode().splitlines()]
    except UnicodeDecodeError as error:
        raise _no_public(name) from error
    trusted = [_allowed(line, name) for line in lines if line and not line.startswith("#")]
    keys = tuple(key for key in trusted if key is not None)
    if not keys:
        raise _no_public(name)
    return keys


def _allowed(line: str, name: str) -> TrustedKey | None:
    """Return a line of an allowed signers file, or of a public key; None if it has another purpose or key type."""
    words = line.split()
    kind = _KIND.decode()
    if kind not in words:
        return None
    at = words.index(kind)
    comment = " ".join(words[at + 2 :])
    options = " ".join(words[1:at])
    if options and not options.startswith('namespaces="'):
        raise RequestError(
            f"{name} has the option {options.split('=')[0]!r}, which is not supported here. Verify with ssh-keygen "
            "-Y verify.",
            found=options,
        )
    if options and NAMESPACE not in options.removeprefix('namespaces="').rstrip('"').split(","):
        return None
    try:
        public = base64.b64decode(words[at + 1], validate=True)
        _Reader(public).after(_KIND)
    except (IndexError, ValueError) as error:
        raise _no_public(name) from error
    return TrustedKey(public, words[0] if at else comment or fingerprint(public))


def _pem_public(data: bytes, name: str) -> bytes:
    _require()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _no_public(name) from error
    if not isinstance(key, Ed25519PublicKey):
        raise _no_public(name)
    return _string(_KIND) + _string(key.public_bytes_raw())


class _Reader:
    """Binary of SSH: strings with their length before them."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def expect(self, wanted: bytes) -> None:
        if not self._data.startswith(wanted, self._at):
            raise ValueError("it has no signature header")
        self._at += len(wanted)

    def string(self) -> bytes:
        start = self._at + 4
        if start > len(self._data):
            raise ValueError("it is truncated")
        (length,) = struct.unpack(">I", self._data[self._at : start])
        if start + length > len(self._data):
            raise ValueError("it is truncated")
        self._at = start + length
        return self._data[start : self._at]

    def end(self) -> None:
        if self._at != len(self._data):
            raise ValueError("it has data after its end")

    def after(self, kind: bytes) -> bytes:
        """Return the string after the name of a key type; 32 bytes of a key, 64 of a signature."""
        if self.string() != kind:
            raise ValueError("its key is not an Ed25519 key")
        actual = self.string()
        self.end()
        if len(actual) not in (32, 64):
            raise ValueError("its key has the wrong length")
        return actual


def _signed(data: bytes, hash_name: bytes, namespace: bytes) -> bytes:
    digest = hashlib.new(hash_name.decode(), data).digest()
    return _MAGIC + _string(namespace) + _string(b"") + _string(hash_name) + _string(digest)


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _armoured(blob: bytes) -> bytes:
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + _LINE] for at in range(0, len(text), _LINE)]
    return ("\n".join([_OPENS, *lines, _CLOSES]) + "\n").encode()


def _require() -> None:
    try:
        import cryptography  # noqa: F401  # only whether it is there
    except ImportError as error:
        raise _missing("cryptography") from error


def _missing(package: str) -> EngineUnavailable:
    install = "pip install 'delta-table-explorer[sign]'"
    return EngineUnavailable(
        f"Signatures need the package {package}. Install it: {install}.", engine=package, install=install
    )


def _no_key() -> RequestError:
    return RequestError(
        "The file does not contain an Ed25519 private key in OpenSSH or PEM format. Create one with ssh-keygen -t "
        "ed25519."
    )


def _no_public(name: str) -> RequestError:
    return RequestError(
        f"{name} does not contain an Ed25519 public key. Use a public key (OpenSSH or PEM) or a file of allowed "
        "signers.",
        path=name,
    )
