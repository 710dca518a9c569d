"""Why a cluster lets nobody in.

The driver tries each bootstrap server, logs what it said, and raises that none could be reached: a wrong password and a
broker that is down look the same then, and only one of them is worth waiting for.

Invariant: nothing said here holds the password.
"""

from __future__ import annotations

import asyncio
import ssl

from aiokafka import errors as kafka
from aiokafka.conn import collect_hosts, create_conn

from graphtide.infra.kafka.address import KafkaAddress
from graphtide.infra.kafka.errors import DRIVER_ERRORS, failure
from graphtide.streams.errors import Broken, GraphtideError

PATIENCE_S = 5.0
_REFUSED = (kafka.SaslAuthenticationFailed, kafka.AuthenticationFailedError)
_MECHANISM = (kafka.UnsupportedSaslMechanismError, kafka.IllegalSaslStateError)


async def unreached(address: KafkaAddress, error: Exception, doing: str) -> GraphtideError:
    """The error to raise when a client could not connect: what the first bootstrap server that refuses us has to say,
    else what `error` is worth. Takes up to PATIENCE_S a server.
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
        async with asyncio.timeout(PATIENCE_S):
            connection = await create_conn(host, port, **options)
    except DRIVER_ERRORS as error:
        return error
    connection.close()
    return None


def refusal(address: KafkaAddress, error: Exception | None) -> Broken | None:
    """What a person has to change, if it is that."""
    at = f"Kafka at {address.bootstrap}"
    if isinstance(error, _REFUSED):
        return Broken(f"{at} refuses the login: check kafka_sasl_username, kafka_sasl_password and the mechanism")
    if isinstance(error, _MECHANISM):
        return Broken(f"{at} does not know {address.sasl_mechanism}: check kafka_sasl_mechanism")
    if isinstance(error, ssl.SSLCertVerificationError):
        return Broken(f"{at} shows a certificate that is not trusted ({error.verify_message}): check kafka_ssl_ca_file")
    return None
