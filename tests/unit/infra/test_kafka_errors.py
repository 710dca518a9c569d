"""Translation of the Kafka driver's errors, each decided explicitly; and secrecy of the password."""

from __future__ import annotations

import inspect

import pytest
from aiokafka import errors as kafka

from graphtide.infra.kafka.address import KafkaAddress
from graphtide.infra.kafka.errors import LATER, NEVER, STOP, failure
from graphtide.streams.errors import Broken, Rejected, Retryable

OURS = set(LATER) | set(NEVER) | set(STOP)


def test_failures_name_every_error_that_the_driver_has() -> None:
    """The table has every class of the driver once: an upgrade's new class needs a decision."""
    classes = {one for one in vars(kafka).values() if inspect.isclass(one) and issubclass(one, Exception)}
    assert sorted(one.__name__ for one in classes - OURS) == []
    assert len(LATER) + len(NEVER) + len(STOP) == len(OURS)


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (kafka.KafkaConnectionError("away"), Retryable),
        (kafka.NotEnoughReplicasError(), Retryable),
        (kafka.MessageSizeTooLargeError(), Rejected),
        (kafka.TopicAuthorizationFailedError(), Broken),
        (kafka.AuthenticationFailedError("no"), Broken),
        (ConnectionResetError("cut"), Retryable),
        (TimeoutError(), Retryable),
        (KeyError("a bug"), Broken),
    ],
)
def test_failure_says_what_is_to_be_done(error: Exception, action: type[Exception]) -> None:
    """A temporary error is Retryable, a record that never fits Rejected, an operator's task or an unknown
    error Broken.
    """
    made = failure(error, "appending")
    assert type(made) is action
    assert "appending" in str(made)
    assert type(error).__name__ in str(made)


def test_address_keeps_the_password_out_of_its_repr() -> None:
    """Neither repr nor str, nor the message of a wrong one, contains the password."""
    address = KafkaAddress("h:1", "SASL_SSL", "SCRAM-SHA-512", "me", "geheim")
    assert "geheim" not in f"{address!r}{address}"
    assert "geheim" in address.client_options().values()
    with pytest.raises(Broken) as refused:
        KafkaAddress("h:1", "SASL_PLAIN", "PLAIN", "me", "geheim")
    assert "geheim" not in str(refused.value)


def test_address_says_which_file_cannot_be_used() -> None:
    """A missing certificate is Broken before anything is connected."""
    with pytest.raises(Broken, match="TLS files"):
        KafkaAddress("h:1", "SSL", ssl_ca_file="nowhere.pem").client_options()
