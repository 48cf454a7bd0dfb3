"""The lock that python3-redis has itself, redis.lock.Lock: on one master. It takes the orders of redlock.py.

  python3 redis-lock.py TTL_MS POLL_MS TIMEOUT_MS PORT
"""
import json
import random
import sys
import time

import redis
from redis.exceptions import LockError

ttl_ms, poll_ms, timeout_ms, port = map(int, sys.argv[1:])
times = {"socket_timeout": timeout_ms / 1000, "socket_connect_timeout": timeout_ms / 1000}
client = redis.Redis(port=port, **times)
lock = None


def now_ms():
    return time.monotonic() * 1000


def report(event, **more):
    print(json.dumps({"event": event, "t": now_ms(), **more}), flush=True)


def attempt(name):
    global lock
    lock = client.lock(name, timeout=ttl_ms / 1000)
    until = now_ms() + ttl_ms * 0.99 - 2
    try:
        if not lock.acquire(blocking=False):
            return False
    except redis.RedisError:
        return False  # unknown: its key may be there until the ttl ends
    report("enter", until=until, value=lock.local.token.decode(), votes=1)
    return True


def release():
    report("leave")
    try:
        lock.release()
        report("released", masters=1)
    except (LockError, redis.RedisError):
        report("released", masters=0)


for line in sys.stdin:
    command, *args = line.split()
    if command == "try":
        if not attempt(args[0]):
            report("refused")
    elif command == "release":
        release()
    elif command == "turn":
        while not attempt(args[0]):
            time.sleep(random.uniform(0, poll_ms) / 1000)
        time.sleep(int(args[1]) / 1000)
        release()
