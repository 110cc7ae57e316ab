"""Delegation tokens, which are switched off, and SASL at the wrong time.

Create-, Renew-, Expire- and DescribeDelegationToken (APIs 38 to 41), versions 0 to 2
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a connection without authentication,
    INVALID_PRINCIPAL_TYPE for a renewer that is no user, otherwise DELEGATION_TOKEN_AUTH_DISABLED:
    the broker has no delegation.token.master.key
SaslHandshake (API 17), versions 0 to 1, and SaslAuthenticate (API 36), versions 0 to 2
    ILLEGAL_SASL_STATE: this listener has no SASL, or the client is known already. The
    authentication itself comes before the handlers: secure_connection.py
"""

from dataclasses import replace
from typing import Any

from kio.schema.sasl_authenticate.v2.response import SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse

from engine.broker.authorization import refused
from engine.broker.call import Call
from engine.errors import ApiException, ErrorCode
from engine.security.principals import ANONYMOUS
from engine.wire.apis import Api

USER = "User"


async def refuse_token(call: Call, request: Any) -> Any:
    principal = call.principal
    code = ErrorCode.delegation_token_auth_disabled
    if principal == ANONYMOUS:
        code = ErrorCode.delegation_token_request_not_allowed
    elif any(each.principal_type != USER for each in getattr(request, "renewers", ())):
        code = ErrorCode.invalid_principal_type
    response = refused(call, request, ApiException(code))
    if call.header.api_key == Api.CREATE_DELEGATION_TOKEN:
        return replace(response, principal_type=principal.type, principal_name=principal.name)
    return response


async def handshake(call: Call, request: Any) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.illegal_sasl_state, mechanisms=())


async def authenticate(call: Call, request: Any) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.illegal_sasl_state,
        error_message="SaslAuthenticate request received after successful authentication",
        auth_bytes=b"",
    )
