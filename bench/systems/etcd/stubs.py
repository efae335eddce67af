"""Lets the unmodified etcd3 0.12.0 run on a current protobuf: `from bench.systems.etcd.stubs import etcdrpc`.

etcd3's generated message modules (`etcdrpc/*_pb2.py`) create descriptors by hand, which protobuf refuses since version
4. But each also carries its whole schema as one serialized FileDescriptorProto. That text is read here, without running
the modules, and the messages are built from it by the installed protobuf. The modules so made are put where
`import etcd3` looks first, in `sys.modules`; etcd3's own code and its gRPC stubs then run as published.

Why not the two other ways: `protobuf<3.21` imports, but has no C code for Python 3.11 and later, costs about 0.9 ms of
CPU a call, and excludes every other package that needs a current protobuf. The rebuilt drop-ins (etcd3-fc and others)
are forks that nobody maintains and that carry the name of this package without being it.
"""

import ast
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from bench.servers.surroundings import unseen
from bench.systems.etcd import grpc_alone  # noqa: F401 - etcd3's own import of gRPC must not be the first

with unseen(("PROTOCOL_BUFFERS_PYTHON_",)):  # chooses another implementation, which costs more processor time
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
    from google.protobuf.message_factory import GetMessageClass

_PACKAGE = "etcd3.etcdrpc"
_MODULES = ("kv_pb2", "auth_pb2", "rpc_pb2")  # each needs only those before it
_SCHEMA = re.compile(r"serialized_pb=_b\(('(?:[^'\\\n]|\\.)*')\)")


def serialized_schema(source: str) -> bytes:
    """The FileDescriptorProto inside the text of one generated module. Raises ImportError when there is none."""
    found = _SCHEMA.search(source)
    if found is None:
        raise ImportError("etcd3's generated modules are not those of version 0.12.0: install etcd3==0.12.0")
    # The literal is the text that protoc wrote: one character a byte.
    return str(ast.literal_eval(found[1])).encode("latin-1")


def build_module(name: str, schema: bytes, pool: DescriptorPool) -> ModuleType:
    """A module with the messages and enums of one schema, as protoc's own output would offer them."""
    module = ModuleType(f"{_PACKAGE}.{name}", "Messages built from etcd3's own schema.")
    descriptor = pool.AddSerializedFile(schema)
    members = vars(module)
    members["DESCRIPTOR"] = descriptor
    for enum_name, enum in descriptor.enum_types_by_name.items():
        members[enum_name] = EnumTypeWrapper(enum)
        members.update({value.name: value.number for value in enum.values})
    for message_name, message in descriptor.message_types_by_name.items():
        members[message_name] = GetMessageClass(message)
    return module


def _register() -> None:
    package = find_spec("etcd3")
    if package is None or package.origin is None:
        raise ImportError("the package etcd3 is not installed: pip install etcd3==0.12.0")
    folder = Path(package.origin).parent / "etcdrpc"
    # A pool of our own: names as short as "rpc.proto" would collide with other packages' in the default pool.
    pool = DescriptorPool()
    for name in _MODULES:
        schema = serialized_schema((folder / f"{name}.py").read_text(encoding="utf-8"))
        sys.modules[f"{_PACKAGE}.{name}"] = build_module(name, schema, pool)


if "etcd3" not in sys.modules:
    _register()
etcdrpc = import_module(_PACKAGE)
