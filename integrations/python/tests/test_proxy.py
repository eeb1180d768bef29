"""Tests of the proxy for any test. They need a Redis server."""

import json
import signal
import socket
import subprocess
import sys
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
    with picklock.Proxy(server[1]) as proxy:
        yield proxy


def await_fired(proxy):
    for _ in range(500):
        if proxy.faults()[0]["fired"]:
            return
        time.sleep(0.01)
    pytest.fail("the fault did not fire")


def await_stock(direct):
    for _ in range(500):
        if direct.get("stock") == b"7":
            return
        time.sleep(0.01)
    pytest.fail("the command did not arrive")


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


TRIGGERS = {"any": {}, "command": {"command": "set"}, "key": {"key": "stock"}, "both": {"command": "SET", "key": "stock"},
            "nth": {"command": "SET", "nth": 2}}
EFFECTS = {"delay": {"for_ms": 150}, "drop": {}, "hold": {}, "cut": {}, "answer": {"error": "READONLY"}}
ERRORS = {"drop": redis.TimeoutError, "hold": redis.TimeoutError, "cut": redis.ConnectionError, "answer": redis.ReadOnlyError}


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("on", ["request", "reply"])
def test_each_fault_fires_at_each_trigger(server, proxy, on, effect, trigger):
    direct, _ = server
    direct.delete("stock")
    client = redis.Redis.from_url(proxy.url, socket_timeout=5 if effect == "delay" else 0.3, retry=None,
                                  single_connection_client=True)
    # The first command of a connection is preceded by those of its handshake.
    client.ping()
    with proxy.fault(on, effect, **EFFECTS[effect], **TRIGGERS[trigger]):
        if trigger == "nth":
            assert client.set("other", 1)
        began = time.monotonic()
        if effect == "delay":
            assert client.set("stock", 7)
            assert time.monotonic() - began >= 0.15
        else:
            with pytest.raises(ERRORS[effect]):
                client.set("stock", 7)
        if on == "request" and effect != "delay":
            assert direct.get("stock") is None
        else:
            await_stock(direct)
        assert proxy.faults()[0]["fired"] == 1
    if effect == "hold":
        await_stock(direct)
    assert proxy.faults() == []
    assert redis.Redis.from_url(proxy.url, socket_timeout=5, retry=None).set("stock", 8)


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


@pytest.mark.parametrize("on, is_set", [("request", None), ("reply", b"9")])
def test_held_frame_arrives_when_the_fault_is_removed(server, proxy, on, is_set):
    server[0].delete("stock")
    held = redis.Redis.from_url(proxy.url, socket_timeout=5, retry=None)
    with ThreadPoolExecutor() as threads:
        with proxy.fault(on, "hold", command="SET"):
            answer = threads.submit(held.set, "stock", 9)
            await_fired(proxy)
            assert not answer.done()
            assert server[0].get("stock") == is_set
        assert answer.result(5)
    assert server[0].get("stock") == b"9"


def test_longest_key_counts(proxy, client):
    with proxy.fault("request", "answer", error="BUSY", key="lock:1"), proxy.fault("request", "answer", error="LOADING", key="lock:12"):
        with pytest.raises(redis.BusyLoadingError):
            client.get("lock:12")
        with pytest.raises(redis.ResponseError, match="BUSY"):
            client.eval("return redis.call('get', KEYS[1])", 1, "lock:1")
        assert client.get("lock:2") is None


def test_fault_with_many_frames_affects_each(proxy, client):
    with proxy.answer("READONLY", command="SET", times=500) as number:
        for _ in range(500):
            with pytest.raises(redis.ReadOnlyError):
                client.set("stock", 1)
        assert client.set("stock", 1)
        assert next(fault for fault in proxy.faults() if fault["id"] == number)["fired"] == 500


@pytest.mark.parametrize("on, is_set", [("request", None), ("reply", b"9")])
def test_cut_resets_the_connection(server, proxy, client, on, is_set):
    server[0].delete("stock")
    other = redis.Redis.from_url(proxy.url, single_connection_client=True)
    number = other.client_id()
    with proxy.fault(on, "cut", command="SET"), pytest.raises(redis.ConnectionError):
        client.set("stock", 9)
    assert server[0].get("stock") == is_set
    assert client.ping()
    assert other.client_id() == number


def test_command_log_has_the_outcome(proxy, client):
    with proxy.drop_reply(command="SET"), pytest.raises(redis.TimeoutError):
        client.set("stock", 7)
    last = [entry for entry in proxy.commands() if entry["command"] == "SET"][-1]
    assert (last["direction"], last["outcome"]) == ("reply", "dropped")


def test_wrong_fault_is_explained(proxy):
    with pytest.raises(picklock.PicklockError, match="`for_ms` belongs to the effect `delay`"):
        with proxy.fault("reply", "delay"):
            pass
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


@pytest.mark.parametrize("body, status", [
    (b"not JSON", 400), (b'{"on": "reply", "effect": "explode"}', 400), (b'{"on": "reply"}', 400),
    (b'{"on": "reply", "effect": "drop", "for": 1}', 400), (b" " * 1_000_000, 413)])
def test_wrong_request_is_explained(proxy, body, status):
    request = urllib.request.Request(proxy.control + "/faults", data=body, method="POST")
    with pytest.raises(urllib.error.HTTPError) as problem:
        urllib.request.urlopen(request)
    assert problem.value.code == status
    assert json.load(problem.value)["error"]
    assert proxy.faults() == []


@pytest.mark.parametrize("header, value", [("Origin", "http://127.0.0.1"), ("Host", "example.org")])
def test_request_of_a_web_page_is_refused(proxy, header, value):
    request = urllib.request.Request(proxy.control + "/commands", headers={header: value})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request)


def test_port_in_use_is_an_error(server, proxy):
    port = proxy.url.rpartition(":")[2]
    for flag in ("--listen", "--control"):
        words = [picklock._engine.engine(), "proxy", "--upstream", server[1], flag, f"127.0.0.1:{port}"]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=30)
        assert ended.returncode == 4
        assert f"{flag} 127.0.0.1:{port}: Address already in use" in ended.stderr


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_signal_ends_the_proxy_and_leaves_nothing(server, number, code):
    proxy = picklock.Proxy(server[1])
    client = redis.Redis.from_url(proxy.url, retry=None)
    proxy._request("POST", "/faults", {"on": "reply", "effect": "hold", "command": "GET"})
    with ThreadPoolExecutor() as threads:
        held = threads.submit(client.get, "stock")
        await_fired(proxy)
        proxy._process.send_signal(number)
        assert proxy._process.wait(10) == code
        assert isinstance(held.exception(10), redis.ConnectionError)
    with pytest.raises(redis.ConnectionError):
        redis.Redis.from_url(proxy.url, retry=None).ping()
    with pytest.raises(picklock.PicklockError, match="the proxy does not answer"):
        proxy.faults()
    proxy.close()


def test_proxy_ends_with_the_program_that_started_it(server):
    program = "import os, picklock, sys; print(picklock.Proxy(sys.argv[1]).control, flush=True); os.kill(os.getpid(), 9)"
    control = subprocess.run([sys.executable, "-c", program, server[1]], capture_output=True, text=True).stdout.strip()
    assert control.startswith("http://127.0.0.1:")
    for _ in range(500):
        try:
            urllib.request.urlopen(control + "/faults")
        except OSError:
            return
        time.sleep(0.01)
    pytest.fail("the proxy still answers")


def test_upstream_on_another_machine_is_refused():
    with pytest.raises(picklock.PicklockError, match="server on this machine"):
        picklock.Proxy("redis://192.0.2.1:6379")
