"""What Kafka answers while its security is switched off, as it always is here.

DescribeAcls, CreateAcls, DeleteAcls (APIs 29 to 31), versions 1 to 2
    SECURITY_DISABLED: no authorizer is configured
Create-, Renew-, Expire- and DescribeDelegationToken (APIs 38 to 41), versions 1 to 2
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: not on a connection without authentication
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from kio.schema.create_acls.v2.response import AclCreationResult, CreateAclsResponse
from kio.schema.create_delegation_token.v2.response import CreateDelegationTokenResponse
from kio.schema.delete_acls.v2.response import DeleteAclsFilterResult, DeleteAclsResponse
from kio.schema.describe_acls.v2.response import DescribeAclsResponse
from kio.schema.describe_delegation_token.v2.response import DescribeDelegationTokenResponse
from kio.schema.expire_delegation_token.v2.response import ExpireDelegationTokenResponse
from kio.schema.renew_delegation_token.v2.response import RenewDelegationTokenResponse

from engine.broker.broker import Broker, Call
from engine.broker.handlers.results import NO_THROTTLE
from engine.errors import ErrorCode

NO_AUTHORIZER = {
    "error_code": ErrorCode.security_disabled,
    "error_message": "No Authorizer is configured on the broker.",
}
NO_TOKENS = {
    "error_code": ErrorCode.delegation_token_request_not_allowed,
    "throttle_time": NO_THROTTLE,
}
NO_TIME = datetime.fromtimestamp(0, UTC) - timedelta(milliseconds=1)  # -1 on the wire


async def describe_acls(broker: Broker, call: Call, request: Any) -> DescribeAclsResponse:
    return DescribeAclsResponse(**NO_AUTHORIZER, throttle_time=NO_THROTTLE, resources=())


async def create_acls(broker: Broker, call: Call, request: Any) -> CreateAclsResponse:
    results = tuple(AclCreationResult(**NO_AUTHORIZER) for _ in request.creations)
    return CreateAclsResponse(throttle_time=NO_THROTTLE, results=results)


async def delete_acls(broker: Broker, call: Call, request: Any) -> DeleteAclsResponse:
    results = tuple(
        DeleteAclsFilterResult(**NO_AUTHORIZER, matching_acls=()) for _ in request.filters
    )
    return DeleteAclsResponse(throttle_time=NO_THROTTLE, filter_results=results)


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
