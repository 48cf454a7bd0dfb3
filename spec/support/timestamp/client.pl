# A program that was there before: the same as client.py, in another language. Standard library only.
#   perl client.pl PORT KEY UNIT(s|ms) TTL_MS POLL_MS COUNTER
use strict;
use warnings;
use IO::Socket::INET;
use Time::HiRes qw(time sleep);

my ($port, $key, $unit, $ttl_ms, $poll_ms, $counter) = @ARGV;
my $per_second = $unit eq 's' ? 1 : 1000;
my $ttl = int($ttl_ms * $per_second / 1000);
my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Proto => 'tcp')
  or die "no connection: $@";
my $expires = 0;
$| = 1;

sub redis {
  my @words = @_;
  my $out = '*' . scalar(@words) . "\r\n";
  $out .= '$' . length($_) . "\r\n$_\r\n" for @words;
  print $socket $out;
  $socket->flush;
  my $line = <$socket>;
  my ($kind, $rest) = $line =~ /^(.)(.*)\r\n$/;
  if ($kind eq '$') {
    return undef if $rest < 0;
    read($socket, my $text, $rest + 2);
    return substr($text, 0, $rest);
  }
  die "$rest\n" if $kind eq '-';
  return $rest;
}

sub now { return int(time() * $per_second) }

sub attempt {
  my $mine = now() + $ttl + 1;
  if (redis('SETNX', $key, $mine) == 1) {
    $expires = $mine;
    return 1;
  }
  my $seen = redis('GET', $key);
  return 0 if !defined($seen) || $seen >= now();
  $mine = now() + $ttl + 1;
  my $before = redis('GETSET', $key, $mine);
  return 0 if defined($before) && $before >= now();
  $expires = $mine;
  return 1;
}

sub acquire { sleep($poll_ms / 1000 * (0.5 + rand())) until attempt() }

sub release {
  return 'late' if now() >= $expires;
  redis('DEL', $key);
  return 'released';
}

print "ready\n";
while (my $line = <STDIN>) {
  my ($word, $times) = split ' ', $line;
  if ($word eq 'try') { print attempt() ? "held $expires\n" : "taken\n" }
  elsif ($word eq 'acquire') { acquire(); print "held $expires\n" }
  elsif ($word eq 'release') { print release(), "\n" }
  elsif ($word eq 'add') {
    for (1 .. $times) {
      acquire();
      redis('SET', $counter, (redis('GET', $counter) // 0) + 1);
      release();
    }
    print "added $times\n";
  }
}
