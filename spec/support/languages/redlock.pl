# A Redlock by the reference algorithm, over clients of libredis-perl. It takes the orders of redlock.py.
#   perl redlock.pl TTL_MS POLL_MS TIMEOUT_MS PORT...
use strict;
use warnings;
use Redis;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

$| = 1;
my ($ttl_ms, $poll_ms, $timeout_ms, @ports) = @ARGV;
my @times = map { $_ => $timeout_ms / 1000 } qw(cnx_timeout read_timeout write_timeout);
my $quorum = int(@ports / 2) + 1;
my (%clients, $name, $value);
my $release = <<'LUA';
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
LUA

sub now_ms { return clock_gettime(CLOCK_MONOTONIC) * 1000 }

# The numbers and texts of these programs need no quoting.
sub report {
  my ($event, %more) = @_;
  my $rest = join '', map { ",\"$_\":" . ($_ eq 'value' ? "\"$more{$_}\"" : $more{$_}) } keys %more;
  printf "{\"event\":\"%s\",\"t\":%.3f%s}\n", $event, now_ms(), $rest;
}

# What fails is unknown: it does not count, and is undone. A client that failed is replaced, since it stays closed.
sub count {
  my ($command) = @_;
  my $done = 0;
  for my $port (@ports) {
    my $ok = eval {
      $clients{$port} //= Redis->new(server => "127.0.0.1:$port", @times);
      $command->($clients{$port});
    };
    delete $clients{$port} if $@;
    $done++ if $ok;
  }
  return $done;
}

sub undo {
  return count(sub { $_[0]->eval($release, 1, $name, $value) });
}

# A new value each time: the undo of an earlier attempt may be late.
sub random_value {
  open my $urandom, '<:raw', '/dev/urandom' or die $!;
  read $urandom, my $bytes, 20;
  return unpack 'H*', $bytes;
}

sub attempt {
  $value = random_value();
  my $start = now_ms();
  my $votes = count(sub { $_[0]->set($name, $value, 'NX', 'PX', $ttl_ms) });
  my $until = $start + $ttl_ms - $ttl_ms * 0.01 - 2;
  if ($votes >= $quorum && now_ms() < $until) {
    report('enter', until => $until, value => $value, votes => $votes);
    return 1;
  }
  undo();
  return 0;
}

sub release {
  report('leave');
  report('released', masters => undo());
}

while (my $line = <STDIN>) {
  chomp $line;
  my ($command, $of, $hold_ms) = split ' ', $line;
  $name = $of if defined $of;
  if ($command eq 'try') { attempt() or report('refused') }
  elsif ($command eq 'release') { release() }
  elsif ($command eq 'turn') {
    sleep(rand($poll_ms) / 1000) until attempt();
    sleep($hold_ms / 1000);
    release();
  }
}
