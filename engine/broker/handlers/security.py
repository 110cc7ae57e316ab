"""Delegation tokens, which are switched off, and SASL at the wrong time.

Create-, Renew-, Expire- and DescribeDelegationToken (APIs 38 to 41), versions 0 to 2
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: not on a connection without authentication
SaslHandshake (API 17), versions 0 to 1, and SaslAuthenticate (API 36), versions 0 to 2
    ILLEGAL_SASL_STATE: this listener has no SASL, or the client is known already. The
    authentication itself comes before the handlers: secure_connection.py
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from kio.schema.create_delegation_token.v2.response import CreateDelegationTokenResponse
from kio.schema.describe_delegation_token.v2.response import DescribeDelegationTokenResponse
from kio.schema.expire_delegation_token.v2.response import ExpireDelegationTokenResponse
from kio.schema.renew_delegation_token.v2.response import RenewDelegationTokenResponse
from kio.schema.sasl_authenticate.v2.response import SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse

from engine.broker.broker import Broker, Call
from engine.broker.handlers.results import NO_THROTTLE
from engine.errors import ErrorCode

NO_TOKENS = {
    "error_code": ErrorCode.delegation_token_request_not_allowed,
    "throttle_time": NO_THROTTLE,
}
NO_TIME = datetime.fromtimestamp(0, UTC) - timedelta(milliseconds=1)  # -1 on the wire


async def create_token(broker: Broker, call: Call, request: Any) -> CreateDelegationTokenResponse:
    return CreateDelegationTokenResponse(
        **NO_TOKENS,
        principal_type="User",
        principal_name="ANONYMOUS",
        issue_timestamp=NO_TIME,
        expiry_timestamp=NO_TIME,
        max_timestamp=NO_TIME,
        token_id="",
        hmac=b"",
    )


async def renew_token(broker: Broker, call: Call, request: Any) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(**NO_TOKENS, expiry_timestamp=NO_TIME)


async def expire_token(broker: Broker, call: Call, request: Any) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(**NO_TOKENS, expiry_timestamp=NO_TIME)


async def describe_tokens(
    broker: Broker, call: Call, request: Any
) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(**NO_TOKENS, tokens=())


async def handshake(broker: Broker, call: Call, request: Any) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.illegal_sasl_state, mechanisms=())


async def authenticate(broker: Broker, call: Call, request: Any) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.illegal_sasl_state,
        error_message="SaslAuthenticate request received after successful authentication",
        auth_bytes=b"",
    )
