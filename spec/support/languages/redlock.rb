# A Redlock by the reference algorithm, over clients of ruby-redis. It takes the orders of redlock.py.
#   ruby redlock.rb TTL_MS POLL_MS TIMEOUT_MS PORT...
require 'json'
require 'redis'
require 'securerandom'

$stdout.sync = true
TTL_MS, POLL_MS, TIMEOUT_MS, *PORTS = ARGV.map(&:to_i)
MASTERS = PORTS.map { |port| Redis.new(port: port, timeout: TIMEOUT_MS / 1000.0, reconnect_attempts: 0) }
QUORUM = MASTERS.size / 2 + 1
RELEASE = <<~LUA
  if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
  end
  return 0
LUA

def now_ms
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_millisecond)
end

def report(event, more = {})
  puts JSON.generate({ event: event, t: now_ms }.merge(more))
end

# What fails is unknown: it does not count, and is undone.
def count
  MASTERS.count do |master|
    yield master
  rescue Redis::BaseError
    false
  end
end

def undo
  count { |master| master.eval(RELEASE, [$name], [$value]) == 1 }
end

def attempt
  $value = SecureRandom.hex(20) # a new one each time: the undo of an earlier attempt may be late
  start = now_ms
  votes = count { |master| master.set($name, $value, nx: true, px: TTL_MS) }
  valid_until = start + TTL_MS - TTL_MS * 0.01 - 2
  if votes >= QUORUM && now_ms < valid_until
    report(:enter, until: valid_until, value: $value, votes: votes)
    return true
  end
  undo
  false
end

def release
  report(:leave)
  report(:released, masters: undo)
end

$stdin.each_line do |line|
  command, name, hold_ms = line.split
  $name = name if name
  case command
  when 'try' then attempt || report(:refused)
  when 'release' then release
  when 'turn'
    sleep(rand * POLL_MS / 1000) until attempt
    sleep(hold_ms.to_i / 1000.0)
    release
  end
end
