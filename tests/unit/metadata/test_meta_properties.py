"""Whose directory it is: meta.properties version 1, and the directories that a node refuses."""

from uuid import UUID

import pytest

from engine.errors import ApiException
from engine.metadata.meta_properties import (
    MetaProperties,
    claim,
    read_meta_properties,
    write_meta_properties,
)
from engine.storage import checkpoints

META = MetaProperties(101, "O2whmP1nSWeNENpX08USQQ", UUID(int=7))
KAFKAS = """#
#Fri Nov 27 18:24:13 UTC 2026
node.id=101
directory.id=AAAAAAAAAAAAAAAAAAAABw
version=1
cluster.id=O2whmP1nSWeNENpX08USQQ
"""


def test_what_is_written_is_read(tmp_path):
    assert read_meta_properties(tmp_path) is None
    write_meta_properties(tmp_path, META)
    assert read_meta_properties(tmp_path) == claim(tmp_path, 101, META.cluster_id) == META


def test_kafkas_own_file_is_read(tmp_path):
    (tmp_path / checkpoints.META).write_text(KAFKAS)
    assert read_meta_properties(tmp_path) == META


def refused(tmp_path, why, *how):
    with pytest.raises(ApiException, match=why):
        claim(tmp_path, *how)


def test_another_nodes_directory_is_refused(tmp_path):
    refused(tmp_path, "No `meta.properties` found in .*format the directory", 101)
    write_meta_properties(tmp_path, META)
    refused(tmp_path, "meta.properties: node.id is 101, and this is node 102", 102)
    refused(tmp_path, "meta.properties: cluster.id is O2wh.* of cluster other", 101, "other")
    checkpoints.write_meta(tmp_path / checkpoints.META, 1, "cluster")
    refused(tmp_path, "version 0, and 1 is expected, a broker in ZooKeeper mode", 1)
    (tmp_path / checkpoints.META).write_text("version=1\nnode.id=x\ncluster.id=y\n")
    refused(tmp_path, "malformed .*meta.properties: invalid literal", 1)
