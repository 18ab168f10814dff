"""The client and the service over HTTPS, with a certificate made for the test."""

import ssl

import kalmia
import pytest
import trustme
from kalmia.errors import ServiceUnavailable
from service import Service, flights


@pytest.fixture
def secure(command, tmp_path):
    """A service with a certificate for 127.0.0.1, and the authority that signed it."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(chain, append=True)
    certificate.private_key_pem.write_to_path(key)
    arguments = ["--tls-certificate", chain, "--tls-key", key]
    service = Service(command, tmp_path / "data", *arguments, scheme="https")
    yield service, authority
    assert service.stop() == 0


def test_rows_are_learned_over_https(secure, tmp_path, monkeypatch):
    service, authority = secure
    trusted = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(trusted)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with kalmia.Client(service.url) as client:
        client.create("late", family="bernoulli", target="late")
        assert client.learn("late", flights(200)).rows == 200
        assert client.predict("late", {"hour": 9, "dist": 300.0})[0].mean < 1.0


def test_a_certificate_that_is_not_trusted_is_refused(secure):
    service, _ = secure
    with kalmia.Client(service.url, retries=0) as client:
        with pytest.raises(ServiceUnavailable) as refused:
            client.models()
    assert isinstance(refused.value.__cause__, ssl.SSLCertVerificationError)
