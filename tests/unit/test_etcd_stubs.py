"""etcd3 as published, on the protobuf of today."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal import api_implementation

from bench.systems.etcd.stubs import build_module, etcdrpc, serialized_schema


def _generated(name: str) -> str:
    package = find_spec("etcd3")
    assert package is not None
    assert package.origin is not None
    return (Path(package.origin).parent / "etcdrpc" / f"{name}.py").read_text(encoding="utf-8")


def test_the_schema_is_read_whole() -> None:
    schema = FileDescriptorProto.FromString(serialized_schema(_generated("rpc_pb2")))
    assert schema.package == "etcdserverpb"
    assert {"KV", "Watch", "Lease", "Maintenance"} <= {service.name for service in schema.service}


def test_a_module_without_a_schema_is_refused_with_the_mend() -> None:
    with pytest.raises(ImportError, match=r"etcd3==0\.12\.0"):
        serialized_schema("DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'...')")


def test_messages_survive_the_wire() -> None:
    operation = etcdrpc.RequestOp(request_put=etcdrpc.PutRequest(key=b"k", value=b"\xff", lease=2**62))
    sent = etcdrpc.TxnRequest(success=[operation])
    received = etcdrpc.TxnRequest.FromString(sent.SerializeToString())
    assert received == sent
    assert received.success[0].request_put.lease == 2**62


def test_enums_are_what_etcd3_uses() -> None:
    assert etcdrpc.RangeRequest.SortTarget.Value("CREATE") == etcdrpc.RangeRequest.CREATE
    assert etcdrpc.AlarmType.Name(etcdrpc.NOSPACE) == "NOSPACE"


def test_a_top_level_enum_becomes_constants() -> None:
    pool = DescriptorPool()
    modules = {
        name: build_module(name, serialized_schema(_generated(name)), pool)
        for name in ("kv_pb2", "auth_pb2", "rpc_pb2")
    }
    assert vars(modules["rpc_pb2"])["NOSPACE"] == 1
    assert vars(modules["kv_pb2"])["KeyValue"].DESCRIPTOR.full_name == "mvccpb.KeyValue"


def test_etcd3_itself_imports_and_builds_its_transactions() -> None:
    import etcd3

    compare = (etcd3.Transactions().create("k") == 7).build_message()
    assert compare.create_revision == 7
    assert etcd3.etcdrpc is etcdrpc


def test_messages_run_in_the_c_implementation() -> None:
    """The reason for building them: the pure-Python implementation costs more than the calls that are measured."""
    assert api_implementation.Type() == "upb"


def test_importing_the_adapter_imports_no_gevent() -> None:
    code = "import sys, bench.systems.etcd.lock; sys.exit('gevent' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
