"""A Redlock by the reference algorithm, over clients of python3-redis.

It does what it is told on its standard input, a line at a time, and answers with lines of JSON:
  try NAME            one attempt                     -> enter, with its value, or refused
  release             deletes its value, if it is there -> leave, then released, with the number of masters
  turn NAME HOLD_MS   tries until it has it, holds, releases -> enter, leave, released
Times are of CLOCK_MONOTONIC, in ms. `until` is the end of its validity. It tries again after up to POLL_MS, and waits for each
master for up to TIMEOUT_MS.

  python3 redlock.py TTL_MS POLL_MS TIMEOUT_MS PORT...
"""
import json
import random
import sys
import time
import uuid

import redis

ttl_ms, poll_ms, timeout_ms, *ports = map(int, sys.argv[1:])
times = {"socket_timeout": timeout_ms / 1000, "socket_connect_timeout": timeout_ms / 1000}
masters = [redis.Redis(port=port, **times) for port in ports]
quorum = len(masters) // 2 + 1
RELEASE = """
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
"""
name = value = None


def now_ms():
    return time.monotonic() * 1000


def report(event, **more):
    print(json.dumps({"event": event, "t": now_ms(), **more}), flush=True)


def count(command):
    done = 0
    for master in masters:
        try:
            done += 1 if command(master) else 0
        except redis.RedisError:
            pass  # unknown: it does not count, and is undone
    return done


def undo():
    return count(lambda master: master.eval(RELEASE, 1, name, value))


def attempt():
    global value
    value = uuid.uuid4().hex  # a new one each time: the undo of an earlier attempt may be late
    start = now_ms()
    votes = count(lambda master: master.set(name, value, nx=True, px=ttl_ms))
    until = start + ttl_ms - ttl_ms * 0.01 - 2
    if votes >= quorum and now_ms() < until:
        report("enter", until=until, value=value, votes=votes)
        return True
    undo()
    return False


def release():
    report("leave")
    report("released", masters=undo())


for line in sys.stdin:
    command, *args = line.split()
    if command == "try":
        name = args[0]
        if not attempt():
            report("refused")
    elif command == "release":
        release()
    elif command == "turn":
        name = args[0]
        while not attempt():
            time.sleep(random.uniform(0, poll_ms) / 1000)
        time.sleep(int(args[1]) / 1000)
        release()
