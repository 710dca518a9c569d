"""Diagnosis of failed connections to a cluster.

The driver tries each bootstrap server, logs the errors, and raises that none was reachable: a wrong password and a
broker that is down then look the same, and only the second is worth waiting for.

Invariant: no message contains the password.
"""

from __future__ import annotations

import asyncio
import ssl

from aiokafka import errors as kafka
from aiokafka.conn import collect_hosts, create_conn

from graphtide.infra.kafka.address import KafkaAddress
from graphtide.infra.kafka.errors import DRIVER_ERRORS, failure
from graphtide.streams.errors import Broken, GraphtideError

TIMEOUT_S = 5.0
_REFUSED = (kafka.SaslAuthenticationFailed, kafka.AuthenticationFailedError)
_MECHANISM = (kafka.UnsupportedSaslMechanismError, kafka.IllegalSaslStateError)


async def unreached(address: KafkaAddress, error: Exception, doing: str) -> GraphtideError:
    """Return the error to raise when a client could not connect.

    It is the refusal of the first bootstrap server that gives one, else the translation of `error`. Takes up to
    TIMEOUT_S per server.
    """
    for host, port, _ in collect_hosts(address.bootstrap.split(",")):
        refused = refusal(address, await _tried(address, host, port))
        if refused is not None:
            return refused
    return failure(error, doing)


async def _tried(address: KafkaAddress, host: str, port: int) -> Exception | None:
    options = address.client_options()
    del options["bootstrap_servers"]
    try:
        async with asyncio.timeout(TIMEOUT_S):
            connection = await create_conn(host, port, **options)
    except DRIVER_ERRORS as error:
        return error
    connection.close()
    return None


def refusal(address: KafkaAddress, error: Exception | None) -> Broken | None:
    """Return the refusal that the operator has to resolve, or None for another error."""
    at = f"Kafka at {address.bootstrap}"
    if isinstance(error, _REFUSED):
        return Broken(f"{at} refuses the login: check kafka_sasl_username, kafka_sasl_password and the mechanism")
    if isinstance(error, _MECHANISM):
        return Broken(f"{at} does not know {address.sasl_mechanism}: check kafka_sasl_mechanism")
    if isinstance(error, ssl.SSLCertVerificationError):
        return Broken(f"{at} presents an untrusted certificate ({error.verify_message}): check kafka_ssl_ca_file")
    return None
