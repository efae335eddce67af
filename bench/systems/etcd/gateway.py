"""One member's HTTP side: its JSON gateway and its metrics, over a plain connection that knows no proxies.

The server spec and `server_facts` use it, because a question to one particular member must not travel by a client's
channel, which may lead to another. Field names are those of etcd's own JSON mapping; 64-bit numbers arrive as strings.
"""

import base64
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any

from bench.servers.endpoint import Endpoint
from bench.servers.tls import client_context


class NoAnswer(Exception):
    """The member did not answer, or not with what was asked for."""


@dataclass(frozen=True, slots=True)
class Status:
    """A member on itself. `leader_id` is 0 while it knows of none."""

    version: str
    cluster_id: int
    member_id: int
    leader_id: int


@dataclass(frozen=True, slots=True)
class Gateway:
    """Speaks to the first address of `endpoint`. `within_s` bounds each request."""

    endpoint: Endpoint
    within_s: float

    @property
    def host(self) -> str:
        return self.endpoint.addresses[0][0]

    @property
    def port(self) -> int:
        return self.endpoint.addresses[0][1]

    def status(self) -> Status:
        """Answered from the member's own memory: needs no quorum."""
        answer = self._post("/v3/maintenance/status", {})
        header = answer.get("header", {})
        try:
            ids = int(header["cluster_id"]), int(header["member_id"])
            return Status(str(answer["version"]), *ids, int(answer.get("leader", 0)))
        except (KeyError, ValueError) as wrong:
            raise NoAnswer(f"{self.host}:{self.port} answers, but not as etcd's v3 API: {answer}") from wrong

    def member_names(self) -> dict[int, str]:
        """Name of each member by id; empty for one that has not yet joined."""
        members = self._post("/v3/cluster/member/list", {}).get("members", [])
        return {int(member["ID"]): str(member.get("name", "")) for member in members}

    def read_through_quorum(self) -> None:
        """A linearizable read: returns only where a majority confirms the leader. Raises NoAnswer."""
        self._kv("range", {"key": "AA==", "limit": "1"})  # the key is one NUL byte, in base64

    def first_created(self, start: bytes, end: bytes) -> Mapping[str, Any] | None:
        """Of the keys from `start` up to `end`, the one created first: its key, value and numbers. None: no key."""
        question = {"key": _base64(start), "range_end": _base64(end), "limit": "1"}
        found = self._kv("range", {**question, "sort_target": "CREATE", "sort_order": "ASCEND"}).get("kvs", [])
        return found[0] if found else None

    def write_over(self, key_in_base64: str, value: bytes) -> None:
        """Give an existing key another value, under the lease that it has."""
        self._kv("put", {"key": key_in_base64, "value": _base64(value), "ignore_lease": True})

    def delete(self, start: bytes, end: bytes) -> int:
        """Delete the keys from `start` up to `end`; how many there were."""
        answer = self._kv("deleterange", {"key": _base64(start), "range_end": _base64(end)})
        return int(answer.get("deleted", 0))

    def leases(self) -> frozenset[int]:
        """The leases that this member knows."""
        return frozenset(int(lease["ID"]) for lease in self._as_user("lease/leases", {}).get("leases", []))

    def metric(self, name: str) -> float | None:
        """One unlabelled sample of the member's Prometheus page; None where there is no such series."""
        return self.samples().get(name)

    def samples(self) -> Mapping[str, float]:
        """The member's Prometheus page: each series, as it is written with its labels, and its value."""
        lines = self._request("GET", "/metrics", None, {}).decode().splitlines()
        return {
            series: float(value) for series, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")
        }

    def _kv(self, call: str, question: Mapping[str, str | bool]) -> Mapping[str, Any]:
        return self._as_user(f"kv/{call}", question)

    def _as_user(self, call: str, question: Mapping[str, str | bool]) -> Mapping[str, Any]:
        """One call that etcd lets only a user make, where it knows users. Rare, so each fetches a token of its own."""
        headers = {}
        if "user" in self.endpoint.secrets:
            user = {"name": self.endpoint.secrets["user"], "password": self.endpoint.secrets.get("password", "")}
            headers = {"Authorization": str(self._post("/v3/auth/authenticate", user).get("token", ""))}
        return self._post(f"/v3/{call}", question, headers)

    def _post(
        self, path: str, question: Mapping[str, str | bool], headers: Mapping[str, str] = {}
    ) -> Mapping[str, Any]:
        try:
            answer = json.loads(self._request("POST", path, json.dumps(question), headers))
        except ValueError as wrong:
            raise NoAnswer(f"{self.host}:{self.port}{path} does not answer in JSON") from wrong
        if not isinstance(answer, dict):
            raise NoAnswer(f"{self.host}:{self.port}{path} answers {type(answer).__name__}, not an object")
        return answer

    def _request(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> bytes:
        try:
            with closing(self._connection()) as connection:
                connection.request(method, path, body, dict(headers))
                response = connection.getresponse()
                content = response.read()
        except (OSError, HTTPException) as failed:
            raise NoAnswer(f"{self.host}:{self.port}{path}: {failed}") from failed
        if response.status != 200:
            raise NoAnswer(f"{self.host}:{self.port}{path}: HTTP {response.status} {content[:200]!r}")
        return content

    def _connection(self) -> HTTPConnection:
        context = client_context(self.endpoint)
        if context is None:
            return HTTPConnection(self.host, self.port, timeout=self.within_s)
        return HTTPSConnection(self.host, self.port, timeout=self.within_s, context=context)


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
