"""The table of operations, and the responses to what is refused."""

from dataclasses import replace
from random import Random

import pytest

from engine.broker.authorization import GUARDS
from engine.errors import ApiException, ErrorCode
from engine.wire import codec
from engine.wire.apis import Api
from engine.wire.errors import RequestHeader
from engine.wire.refusal import refusal, refused_rows
from tests.unit.broker import alone
from tests.unit.wire.anything import message
from tests.unit.wire.frames import encode_response

ERROR = ApiException(ErrorCode.cluster_authorization_failed, "no")
VERSIONS = [
    (api, v) for api in GUARDS if api in codec.APIS for v in range(api.oldest, api.newest + 1)
]
NEVER_AS_A_WHOLE = {Api.METADATA, Api.DESCRIBE_LOG_DIRS, Api.LIST_GROUPS}  # these show less


def test_every_api_that_is_served_is_in_the_table():
    assert alone.served() <= set(GUARDS)


def request_of(api, version):
    """Any request, as the broker gets it: with one row in each list."""
    sent = message(Random(0), codec.message(api, version, "request"), 1)
    frame = codec.encode_request(RequestHeader(api, version, 1, "c"), sent)
    return codec.decode_request(frame[4:], {api})[1]


def sent_and_read(api, version, response):
    header = RequestHeader(api, version, 1, "c")
    return codec.decode_response(header, encode_response(header, response)[4:])


def codes(message):
    """Every error code in a response, however deep."""
    if isinstance(message, tuple):
        return [code for each in message for code in codes(each)]
    if not hasattr(message, "__dataclass_fields__"):
        return []
    found = [
        getattr(message, name) for name in message.__dataclass_fields__ if "error_code" in name
    ]
    below = [getattr(message, name) for name in message.__dataclass_fields__]
    return found + [code for each in below for code in codes(each)]


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=str)
def test_a_refused_request_has_a_response_in_each_version(api, version):
    response = sent_and_read(api, version, refusal(api, request_of(api, version), ERROR))
    found = codes(response)
    if api not in NEVER_AS_A_WHOLE:
        assert ERROR.code in found or not found, response


@pytest.mark.parametrize(
    ("api", "version"), [each for each in VERSIONS if GUARDS[each[0]].rows], ids=str
)
def test_a_refused_row_is_in_the_response_with_its_name_and_the_error(api, version):
    listed, request = GUARDS[api].rows.response, request_of(api, version)
    named = "topic_names" if hasattr(request, "topic_names") else GUARDS[api].rows.request
    (row,) = getattr(request, named)
    refused = refused_rows(api, listed, [row], ERROR)
    nothing = refusal(api, request, ApiException(ErrorCode.none))
    answer = sent_and_read(api, version, replace(nothing, **{listed: refused}))
    (answered,) = getattr(answer, listed)
    assert set(codes(answered)) - {ErrorCode.none} == {ERROR.code}
    assert name_of(answered) == name_of(row)


def name_of(row):
    if isinstance(row, str):
        return row
    names = ("name", "topic", "group_id", "resource_name")
    return next(getattr(row, each) for each in names if hasattr(row, each))
