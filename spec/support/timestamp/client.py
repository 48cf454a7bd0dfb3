"""A program that was there before: a timestamp lock by SETNX, GET and GETSET, as the well-known page has it.

Standard library only. It does what it is told on its standard input, a line at a time, and answers each with a line:
  try       one attempt              -> held INSTANT | taken
  acquire   tries until it has it    -> held INSTANT
  release   DEL, if its own instant is not over -> released | late
  add N     N times: acquire, read a counter, write it back one higher, release -> added N

  python3 client.py PORT KEY UNIT(s|ms) TTL_MS POLL_MS COUNTER
"""
import socket
import sys
import time
import random

port, key, unit, ttl_ms, poll_ms, counter = sys.argv[1:7]
per_second = 1 if unit == "s" else 1000
ttl = int(ttl_ms) * per_second // 1000
stream = socket.create_connection(("127.0.0.1", int(port))).makefile("rwb")
expires = 0


def redis(*words):
    out = b"*%d\r\n" % len(words)
    for word in words:
        raw = str(word).encode()
        out += b"$%d\r\n%s\r\n" % (len(raw), raw)
    stream.write(out)
    stream.flush()
    line = stream.readline()
    kind, rest = line[:1], line[1:].strip()
    if kind == b"$":
        if int(rest) < 0:
            return None
        return stream.read(int(rest) + 2)[:-2].decode()
    if kind == b":":
        return int(rest)
    if kind == b"-":
        raise RuntimeError(rest.decode())
    return rest.decode()


def now():
    return int(time.time() * per_second)


def attempt():
    global expires
    mine = now() + ttl + 1
    if redis("SETNX", key, mine) == 1:
        expires = mine
        return True
    seen = redis("GET", key)
    if seen is None or float(seen) >= now():
        return False
    mine = now() + ttl + 1
    before = redis("GETSET", key, mine)
    if before is None or float(before) < now():
        expires = mine
        return True
    return False


def acquire():
    while not attempt():
        time.sleep(int(poll_ms) / 1000 * random.uniform(0.5, 1.5))


def release():
    if now() >= expires:
        return "late"
    redis("DEL", key)
    return "released"


print("ready", flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == "try":
        print("held %d" % expires if attempt() else "taken", flush=True)
    elif words[0] == "acquire":
        acquire()
        print("held %d" % expires, flush=True)
    elif words[0] == "release":
        print(release(), flush=True)
    elif words[0] == "add":
        for _ in range(int(words[1])):
            acquire()
            redis("SET", counter, int(redis("GET", counter) or 0) + 1)
            release()
        print("added %s" % words[1], flush=True)
