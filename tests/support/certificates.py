"""A certificate authority for the duration of a test, and a folder of secrets that is replaced as a whole."""

from __future__ import annotations

import datetime
import shutil
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA whose files are in `folder`."""

    folder: Path
    name: str
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def file(self) -> Path:
        """Return the path of the CA's certificate."""
        return self.folder / f"{self.name}.pem"

    def issue(self, name: str) -> tuple[Path, Path, Path]:
        """Return the files (certificate, key, both in one file) of a new certificate for 127.0.0.1 and localhost."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")])
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = _builder(name, self.name, key).add_extension(names, critical=False)
        issued = builder.add_extension(signer, critical=False).sign(self.key, hashes.SHA256())
        paths = tuple(self.folder / f"{name}.{kind}" for kind in ("crt", "key", "both.pem"))
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        parts = (issued.public_bytes(Encoding.PEM), pem, issued.public_bytes(Encoding.PEM) + pem)
        for path, part in zip(paths, parts, strict=True):
            path.write_bytes(part)
        return paths[0], paths[1], paths[2]


def authority(folder: Path, name: str = "ca") -> Authority:
    """Return a new CA, with the extensions that Python demands of one since 3.13."""
    key = ec.generate_private_key(ec.SECP256R1())
    constraint, usage = x509.BasicConstraints(ca=True, path_length=None), _signs_certificates()
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = _builder(name, name, key).add_extension(constraint, critical=True).add_extension(usage, critical=True)
    certificate = builder.add_extension(identifier, critical=False).sign(key, hashes.SHA256())
    made = Authority(folder, name, key, certificate)
    made.file.write_bytes(certificate.public_bytes(Encoding.PEM))
    return made


def _signs_certificates() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )


def _builder(name: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    named, issued_by = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (name, issuer))
    builder = x509.CertificateBuilder().subject_name(named).issuer_name(issued_by).public_key(key.public_key())
    return builder.serial_number(x509.random_serial_number()).not_valid_before(now - _DAY).not_valid_after(now + _DAY)


class Secret:
    """A folder of files whose content is replaced atomically as a whole, the way a kubelet does it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        folder.mkdir()

    def hold(self, **files: Path) -> None:
        """Replace the content with copies of these files under these names, with `_` for `.`."""
        self._number += 1
        fresh = self._folder / f"..{self._number}"
        fresh.mkdir()
        for name, source in files.items():
            shutil.copy(source, fresh / name.replace("_", "."))
            link = self._folder / name.replace("_", ".")
            if not link.is_symlink():
                link.symlink_to(Path("..data") / link.name)
        turning = self._folder / "..turning"
        turning.symlink_to(fresh.name)
        turning.rename(self._folder / "..data")

    def __truediv__(self, name: str) -> Path:
        return self._folder / name
