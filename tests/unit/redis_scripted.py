"""A server that speaks Redis' protocol and answers as a test says: what real ones answer only in rare states."""

import socket
import threading
from collections.abc import Callable, Mapping
from typing import Self

Reply = bytes
INFO = {"redis_version": "7.0.15", "run_id": "0" * 40, "maxmemory": "0", "maxmemory_policy": "noeviction"}


def error(text: str) -> Reply:
    return f"-{text}\r\n".encode()


def bulk(text: str) -> Reply:
    raw = text.encode()
    return b"$%d\r\n%b\r\n" % (len(raw), raw)


def info_text(told: Mapping[str, str]) -> str:
    return "# Server\r\n" + "".join(f"{name}:{value}\r\n" for name, value in told.items())


class ScriptedRedis:
    """Greets like Redis; `answer` says what comes to all other commands, by their words. A context manager."""

    def __init__(self, answer: Callable[[list[str]], Reply], told: Mapping[str, str] = INFO) -> None:
        self._answer, self._told = answer, dict(told)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()
        self.commands: list[list[str]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            try:
                while header := stream.readline():
                    words = []
                    for _ in range(int(header[1:])):
                        length = int(stream.readline()[1:])
                        words.append(stream.read(length + 2)[:-2].decode())
                    self.commands.append(words)
                    connection.sendall(self._reply(words))
            except OSError:
                return

    def _reply(self, words: list[str]) -> Reply:
        match [words[0].upper(), *words[1:]]:
            case ["INFO", *_]:
                return bulk(info_text(self._told))
            case ["CLIENT", "ID"]:
                return b":7\r\n"
            case ["CLIENT", "KILL", *_]:
                return b":0\r\n"
            case ["AUTH" | "SELECT", *_] | ["CLIENT", "SETNAME", _]:
                return b"+OK\r\n"
            case ["SCRIPT", "LOAD", _]:
                return bulk("0" * 40)
            case ["CONFIG", "GET", _]:
                return b"*0\r\n"
            case ["EVAL" | "EVALSHA", _, "2", "lockbench:{?}:lock", *_]:
                return b"*0\r\n"  # the rights are tried: none is lacking
        return self._answer(words)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # else accept(2) waits on, and keeps the number of a descriptor
        self._listener.close()
