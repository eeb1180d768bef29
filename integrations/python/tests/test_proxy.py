"""Tests of the proxy for any test. They need a Redis server."""

import socket
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import picklock
import pytest
import redis


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    process = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir",
                                str(tmp_path_factory.mktemp("redis"))], stdout=subprocess.DEVNULL)
    client = redis.Redis(port=port, retry=None)
    for _ in range(100):
        try:
            client.ping()
            break
        except redis.ConnectionError:
            time.sleep(0.05)
    yield client, f"redis://127.0.0.1:{port}"
    process.terminate()
    process.wait()


@pytest.fixture
def proxy(server):
    with picklock.Proxy(server[1], keys=["stock", "other"]) as proxy:
        yield proxy


@pytest.fixture
def client(proxy):
    return redis.Redis.from_url(proxy.url, socket_timeout=0.5, retry=None)


def test_dropped_reply_is_lost_after_the_command_ran(server, proxy, client):
    with proxy.drop_reply(command="set", key="stock"):
        assert client.set("other", 1)
        with pytest.raises(redis.TimeoutError):
            client.set("stock", 7)
    assert server[0].get("stock") == b"7"
    assert client.get("stock") == b"7"


def test_dropped_request_never_runs(server, proxy, client):
    server[0].delete("stock")
    with proxy.drop_request(command="SET"), pytest.raises(redis.TimeoutError):
        client.set("stock", 7)
    assert server[0].get("stock") is None


@pytest.mark.parametrize("on", ["request", "reply"])
def test_delay_affects_the_nth_frame_only(proxy, client, on):
    client.ping()
    with proxy.fault(on, "delay", for_ms=200, command="PING", nth=2):
        spent = []
        for _ in range(3):
            began = time.monotonic()
            client.ping()
            spent.append(time.monotonic() - began)
    assert spent[1] >= 0.2 > max(spent[0], spent[2])


def test_held_reply_arrives_when_the_fault_is_removed(proxy, client):
    held = redis.Redis.from_url(proxy.url, socket_timeout=5, retry=None)
    with ThreadPoolExecutor() as threads:
        with proxy.fault("reply", "hold", command="GET"):
            answer = threads.submit(held.get, "stock")
            time.sleep(0.3)
            assert not answer.done()
        answer.result(5)


def test_cut_resets_the_connection(proxy, client):
    client.ping()
    with proxy.fault("request", "cut", command="GET"), pytest.raises(redis.ConnectionError):
        client.get("stock")
    client.get("stock")


@pytest.mark.parametrize("on, is_set", [("request", None), ("reply", b"9")])
def test_answer_replaces_the_reply(server, proxy, client, on, is_set):
    server[0].delete("stock")
    with proxy.fault(on, "answer", error="READONLY", command="SET"), pytest.raises(redis.ResponseError):
        client.set("stock", 9)
    assert server[0].get("stock") == is_set


def test_command_log_has_the_outcome(proxy, client):
    with proxy.drop_reply(command="SET"), pytest.raises(redis.TimeoutError):
        client.set("stock", 7)
    last = [entry for entry in proxy.commands() if entry["command"] == "SET"][-1]
    assert (last["direction"], last["outcome"]) == ("reply", "dropped")


def test_wrong_fault_is_explained(proxy):
    with pytest.raises(picklock.PicklockError, match="start the proxy with --key nothing"):
        with proxy.drop_reply(key="nothing"):
            pass
    request = urllib.request.Request(proxy.control + "/faults", data=b"not JSON", method="POST")
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request)
    assert proxy.faults() == []


def test_thousand_faults_and_no_more(proxy, client):
    for _ in range(1000):
        proxy._request("POST", "/faults", {"on": "reply", "effect": "drop", "command": "GETDEL"})
    with pytest.raises(picklock.PicklockError, match="too many faults"):
        proxy._request("POST", "/faults", {"on": "reply", "effect": "drop"})
    assert client.ping()


def test_lost_upstream_ends_connections_and_not_the_proxy(tmp_path):
    with picklock.Proxy("redis://127.0.0.1:1") as proxy:
        with pytest.raises(redis.ConnectionError):
            redis.Redis.from_url(proxy.url, socket_timeout=1, retry=None).ping()
        assert proxy.faults() == []


def test_upstream_on_another_machine_is_refused():
    with pytest.raises(picklock.PicklockError, match="server on this machine"):
        picklock.Proxy("redis://192.0.2.1:6379")
