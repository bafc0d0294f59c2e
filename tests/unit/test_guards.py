"""The guards that every test runs under do guard."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import settings


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("example.invalid", 443), ("2001:db8::1", 80, 0, 0)])
def test_no_test_can_leave_this_machine(address: tuple[str, int]) -> None:
    family = socket.AF_INET6 if len(address) == 4 else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as connection, pytest.raises(AssertionError, match=address[0]):
        connection.connect(address)
    with socket.socket(family, socket.SOCK_DGRAM) as connection, pytest.raises(AssertionError, match=address[0]):
        connection.sendto(b"", address)


def test_a_server_on_loopback_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        client.sendall(b"x")
        assert server.accept()[0].recv(1) == b"x"


def test_the_cache_is_not_the_users(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert Path(os.environ["BURNISH_CACHE"]).is_relative_to(tmp_path_factory.getbasetemp())


def test_examples_are_the_same_each_time() -> None:
    assert settings().derandomize
    assert settings().deadline is None
