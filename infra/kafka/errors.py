"""Error translation of aiokafka: one table from its exceptions to the errors of Graphtide.

Invariant: no exception of the driver leaves the adapters. A test fails when the table lacks a class of the driver.
"""

from __future__ import annotations

import asyncio

from aiokafka import errors as kafka

from graphtide.streams.errors import Broken, GraphtideError, Rejected, Retryable

LATER: tuple[type[Exception], ...] = (
    kafka.NoBrokersAvailable,
    kafka.NodeNotReadyError,
    kafka.KafkaProtocolError,
    kafka.CorrelationIdError,
    kafka.Cancelled,
    kafka.TooManyInFlightRequests,
    kafka.StaleMetadata,
    kafka.MetadataEmptyBrokerList,
    kafka.CommitFailedError,
    kafka.KafkaUnavailableError,
    kafka.KafkaTimeoutError,
    kafka.KafkaConnectionError,
    kafka.QuotaViolationError,
    kafka.ConsumerStoppedError,
    kafka.IllegalStateError,  # the assignment changed during a call
    kafka.NoOffsetForPartitionError,
    kafka.OffsetOutOfRangeError,
    kafka.ProducerClosed,
    kafka.LeaderNotAvailableError,
    kafka.NotLeaderForPartitionError,
    kafka.RequestTimedOutError,
    kafka.BrokerNotAvailableError,
    kafka.ReplicaNotAvailableError,
    kafka.StaleControllerEpochError,
    kafka.StaleLeaderEpochCodeError,
    kafka.CoordinatorLoadInProgressError,
    kafka.CoordinatorNotAvailableError,
    kafka.NotCoordinatorError,
    kafka.NotEnoughReplicasError,
    kafka.NotEnoughReplicasAfterAppendError,
    kafka.IllegalGenerationError,
    kafka.UnknownMemberIdError,
    kafka.RebalanceInProgressError,
    kafka.NotControllerError,
    kafka.OutOfOrderSequenceNumber,  # a new producer restarts its sequence numbers
    kafka.DuplicateSequenceNumber,
    kafka.InvalidProducerEpoch,
    kafka.InvalidProducerIdMapping,
    kafka.UnknownProducerId,
    kafka.ProducerFenced,
    kafka.ConcurrentTransactions,
    kafka.TransactionCoordinatorFenced,
    kafka.OperationNotAttempted,
    kafka.KafkaStorageError,
    kafka.ReassignmentInProgress,
    kafka.FetchSessionIdNotFound,
    kafka.InvalidFetchSessionEpoch,
    kafka.ListenerNotFound,
    kafka.MemberIdRequired,
    kafka.UnknownError,
)
"""The cluster is unreachable or busy, or a leader has moved: the same attempt may work later."""

NEVER: tuple[type[Exception], ...] = (
    kafka.RecordTooLargeError,
    kafka.MessageSizeTooLargeError,
    kafka.RecordListTooLargeError,
    kafka.InvalidTimestampError,
)
"""This record will never be accepted."""

STOP: tuple[type[Exception], ...] = (
    kafka.KafkaError,
    kafka.BrokerResponseError,
    kafka.NoError,
    kafka.IllegalArgumentError,
    kafka.IllegalOperation,
    kafka.UnrecognizedBrokerVersion,
    kafka.IncompatibleBrokerVersion,
    kafka.AuthenticationMethodNotSupported,
    kafka.AuthenticationFailedError,
    kafka.UnsupportedCodecError,
    kafka.KafkaConfigurationError,
    kafka.CorruptRecordException,
    kafka.UnknownTopicOrPartitionError,
    kafka.InvalidFetchRequestError,
    kafka.OffsetMetadataTooLargeError,
    kafka.InvalidTopicError,
    kafka.InvalidRequiredAcksError,
    kafka.InconsistentGroupProtocolError,
    kafka.InvalidGroupIdError,
    kafka.InvalidSessionTimeoutError,
    kafka.InvalidCommitOffsetSizeError,
    kafka.TopicAuthorizationFailedError,
    kafka.GroupAuthorizationFailedError,
    kafka.ClusterAuthorizationFailedError,
    kafka.UnsupportedSaslMechanismError,
    kafka.IllegalSaslStateError,
    kafka.UnsupportedVersionError,
    kafka.TopicAlreadyExistsError,
    kafka.InvalidPartitionsError,
    kafka.InvalidReplicationFactorError,
    kafka.InvalidReplicationAssignmentError,
    kafka.InvalidConfigurationError,
    kafka.InvalidRequestError,
    kafka.UnsupportedForMessageFormatError,
    kafka.PolicyViolationError,
    kafka.InvalidTxnState,
    kafka.InvalidTransactionTimeout,
    kafka.TransactionalIdAuthorizationFailed,
    kafka.SecurityDisabled,
    kafka.LogDirNotFound,
    kafka.SaslAuthenticationFailed,
    kafka.DelegationTokenAuthDisabled,
    kafka.DelegationTokenNotFound,
    kafka.DelegationTokenOwnerMismatch,
    kafka.DelegationTokenRequestNotAllowed,
    kafka.DelegationTokenAuthorizationFailed,
    kafka.DelegationTokenExpired,
    kafka.InvalidPrincipalType,
    kafka.NonEmptyGroup,
    kafka.GroupIdNotFound,
)
"""The operator has to change rights, settings or versions."""

DRIVER_ERRORS = (
    kafka.KafkaError,
    kafka.IllegalOperation,
    kafka.ConsumerStoppedError,
    TimeoutError,
    asyncio.TimeoutError,
    OSError,
)
"""All exceptions of the driver's calls: callers catch them and pass them to `failure`."""

_ACTIONS: dict[type[BaseException], type[GraphtideError]] = {
    **dict.fromkeys(LATER, Retryable),
    **dict.fromkeys(NEVER, Rejected),
    **dict.fromkeys(STOP, Broken),
    TimeoutError: Retryable,
    OSError: Retryable,
}


def failure(error: BaseException, doing: str) -> GraphtideError:
    """Return the error to raise from `error`, by the nearest class in the table; an unlisted class is Broken."""
    action = next((_ACTIONS[kind] for kind in type(error).__mro__ if kind in _ACTIONS), Broken)
    message = str(error) or type(error).__name__
    return action(f"Kafka: {doing} failed ({type(error).__name__}: {message[:300]})")
