"""What the table of APIs says, against what real brokers and the published schemas say."""

import warnings
from importlib import import_module

import pytest

from engine.wire import codec
from engine.wire.apis import APIS, Api
from engine.wire.kraft_apis import KRAFT_APIS, KRaftApi
from engine.wire.old_versions import OLDEST_IN_KIO

TABLES = {f"{type(api).__name__}-{api.name}": api for api in (*APIS.values(), *KRaftApi)}
EVERY = pytest.mark.parametrize("api", TABLES.values(), ids=TABLES)
OF_KIO = pytest.mark.parametrize(
    "api", [api for api in TABLES.values() if not api.between_brokers], ids=repr
)


@pytest.fixture(scope="module")
def releases():
    """What kafka-python knows: what each release answers, and how to tell them apart."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module("kafka.protocol.broker_version_data")


def test_the_newest_versions_are_those_of_a_real_2_8(releases):
    answered = releases.BROKER_API_VERSIONS[2, 8]

    assert {key: api.newest for key, api in APIS.items()} == {
        key: newest for key, (_, newest) in answered.items()
    }


def test_a_client_guesses_2_8(releases):
    served = {key: (api.oldest, api.newest) for key, api in APIS.items()}

    assert releases.infer_broker_version_from_api_versions(served) == (2, 8)


def test_without_zookeeper_the_newest_versions_are_those_of_a_real_3_3(releases):
    answered = releases.BROKER_API_VERSIONS[3, 3]  # with ZooKeeper; the difference is known
    of_zookeeper = {*range(4, 8), *range(38, 42), 50, 51, 56, 67}
    without = {key: newest for key, (_, newest) in answered.items() if key not in of_zookeeper}

    assert {key: api.newest for key, api in KRAFT_APIS.items()} == without | {55: 1, 64: 0}


def test_a_client_guesses_3_3_without_zookeeper(releases):
    served = {key: (api.oldest, api.newest) for key, api in KRAFT_APIS.items()}

    assert releases.infer_broker_version_from_api_versions(served) == (3, 3)


@EVERY
def test_every_version_has_schemas_that_agree_with_the_row(api):
    for version in range(api.oldest, api.newest + 1):
        for kind in ("request", "response"):
            message = codec.message(api, version, kind)
            assert message.__version__ == version
            assert message.__flexible__ == (version >= api.flexible)
            assert api.between_brokers or message.__api_key__ == api


@OF_KIO
def test_only_what_kio_lacks_is_derived(api):
    oldest = OLDEST_IN_KIO.get(api, 0)
    import_module(api.schema(oldest, "request"))
    with pytest.raises(ModuleNotFoundError):
        import_module(api.schema(oldest - 1, "request"))


@OF_KIO
def test_headers_are_those_that_the_schemas_name(api):
    for version in range(api.oldest, api.newest + 1):
        request = codec.message(api, version, "request").__header_schema__
        response = codec.message(api, version, "response").__header_schema__
        assert api.request_header(version) == request.__version__
        assert api.response_header(version) == response.__version__


def test_the_header_of_an_answer_to_api_versions_is_never_flexible():
    assert Api.API_VERSIONS.request_header(3) == 2
    assert Api.API_VERSIONS.response_header(3) == 0
