/** What the restart guard promises to those who run it: bootstrap, ready, markers, one guard for the deployment. */
import { expect } from 'chai';
import { GUARD_MS, GUARDED, type GuardedMaster, MARKER, type Section, UNGUARDED } from './stand.js';

const WAITING = { waitMs: 5_000 } as const;
/** Another one than `GUARD_MS`. */
const OTHER_MS = 900_000;

/** `bootstrap` (T-B8). */
export const bootstraps: Section = (rule) => {
  const declared = (names: readonly string[]): unknown => ({
    changed: true,
    nodes: names.map((node) => ({ node, state: 'declared' })),
  });

  rule('bootstrap: the first grant is immediate; a second one changes nothing', 'none', async (stand) => {
    const redlock = stand.open();
    expect(await stand.ok(redlock.bootstrap())).to.deep.equal(declared(stand.names));
    await stand.ok((await stand.ok(redlock.acquire('r'))).release());
    expect(await stand.ok(redlock.bootstrap())).to.deep.equal({
      changed: false,
      nodes: stand.names.map((node) => ({ node, state: 'unchanged', remainingMs: 0 })),
    });
    expect(await stand.ok(redlock.bootstrap({ force: true }))).to.deep.equal(declared(stand.names));
  });

  for (const [what, persistence] of [
    ['in quarantine', 'none'],
    ['of another process', 'AOF'],
  ] as const) {
    rule(`bootstrap, markers ${what}: nothing changed; force ends it`, persistence, async (stand) => {
      const redlock = persistence === 'none' ? stand.open() : await stand.started();
      if (persistence === 'none')
        stand.expectQuarantined(await stand.noticed(() => redlock.acquire('r'), stand.masters));
      else await stand.happen('kept');
      const { changed, nodes } = await stand.reported(redlock, { force: false });
      expect([changed, ...nodes.map(({ node }) => node)]).to.deep.equal([false, ...stand.names]);
      for (const node of nodes) {
        expect(node.state).to.equal('unchanged');
        if (node.state === 'unchanged') stand.expectLeft(node.remainingMs, GUARD_MS);
      }
      stand.expectQuarantined(await stand.refused(redlock.acquire('r')));
      expect(await stand.ok(redlock.bootstrap({ force: true }))).to.deep.equal(declared(stand.names));
      const lease = await stand.ok(redlock.acquire('r'));
      await stand.expectHeld('r', lease.token); // and nothing of what failed before
    });
  }

  rule('bootstrap, a minority gone: done at the others, the cause for the rest', 'none', async (stand) => {
    const redlock = await stand.connected();
    for (const master of stand.minority) await master.kill();
    const { changed, nodes } = await stand.ok(redlock.bootstrap());
    expect([changed, ...nodes.map(({ state }) => state)]).to.deep.equal([
      true,
      ...stand.masters.map((master) => (stand.minority.includes(master) ? 'unknown' : 'declared')),
    ]);
    for (const node of nodes)
      if (node.state === 'unknown')
        expect(node.cause.message).to.match(/^(not connected|the connection was lost)/); // whether it was noticed
    await stand.ok(redlock.acquire('r'));
  });

  rule('bootstrap, as many silent as cost the quorum: NO_QUORUM, naming them', 'none', async (stand) => {
    const redlock = await stand.connected({ ...GUARDED, nodeTimeoutMs: 200 });
    for (const master of stand.decisive) await master.freeze();
    for (;;) {
      const { code, tally } = await stand.refused(redlock.bootstrap());
      expect(code).to.equal('NO_QUORUM');
      const silent = tally.flatMap(({ node, outcome }) => (outcome === 'unknown' ? [node] : []));
      expect(silent).to.include.members(stand.names.slice(0, stand.decisive.length));
      if (silent.length === stand.decisive.length) break; // or others were slow
    }
    for (const master of stand.decisive) await master.thaw();
  });

  rule('bootstrap, one without its marker: changed, and the state of each', 'none', async (stand) => {
    const redlock = await stand.started();
    await stand.happen('FLUSHALL', stand.masters.slice(0, 1));
    const { changed, nodes } = await stand.ok(redlock.bootstrap());
    expect([changed, ...nodes.map(({ state }) => state)]).to.deep.equal([
      true,
      'declared',
      ...stand.masters.slice(1).map(() => 'unchanged'),
    ]);
  });

  rule('bootstrap without a period, by force: the guard is gone', 'none', async (stand) => {
    await stand.started();
    const redlock = stand.open(UNGUARDED);
    expect((await stand.refused(redlock.acquire('r'))).code).to.equal('MISCONFIGURED');
    expect((await stand.ok(redlock.bootstrap({ force: true }))).changed).to.equal(true);
    await stand.expectFree(MARKER);
    await stand.ok(redlock.acquire('r'));
  });
};

export const readiness: Section = (rule) => {
  rule('ready() resolves at once where a quorum votes', 'none', async (stand) => {
    const redlock = await stand.started();
    await stand.happen('FLUSHALL', stand.minority);
    await stand.ok(redlock.ready());
  });

  rule('ready() begins the quarantine of masters that have none yet', 'none', async (stand) => {
    const [a, b] = [stand.open(), await stand.connected()];
    const failed = stand.refused(a.ready());
    await stand.eventually(async () => {
      const markers = await Promise.all(stand.masters.map((master) => master.get(MARKER)));
      return !markers.includes(null);
    });
    stand.expectQuarantined(await stand.refused(b.acquire('r')));
    await stand.ok(a.close());
    expect((await failed).code).to.equal('CLOSED'); // at once, in the middle of it
  });

  rule('ready() goes on asking while fewer than a quorum answer', 'none', async (stand) => {
    await stand.started();
    const redlock = await stand.connected({ ...GUARDED, nodeTimeoutMs: 100 });
    for (const master of stand.decisive) await master.freeze();
    let isReady = false;
    const ready = redlock.ready().then(() => (isReady = true));
    expect((await stand.refused(redlock.acquire('r'))).code).to.equal('NO_QUORUM'); // so long it asks in vain
    expect(isReady).to.equal(false);
    for (const master of stand.decisive) await master.thaw();
    await stand.ok(ready);
  });

  rule('ready(): CLOSED by close while masters are silent', 'none', async (stand) => {
    const redlock = await stand.connected({ ...GUARDED, nodeTimeoutMs: 100 });
    for (const master of stand.masters) await master.freeze();
    const failed = stand.refused(redlock.ready());
    await stand.ok(redlock.close());
    expect((await failed).code).to.equal('CLOSED');
    for (const master of stand.masters) await master.thaw();
  });
};

const MARKERS: readonly (readonly [string, (master: GuardedMaster) => Promise<unknown>])[] = [
  ['of another type', (master) => master.putData(MARKER)],
  ['with another text', (master) => master.set(MARKER, 'something')],
  ['that is empty', (master) => master.set(MARKER, '')],
  ['of a future version', async (master) => master.set(MARKER, `2|${await master.runId()}|0|${GUARD_MS}`)],
  [
    'with more behind it',
    async (master) => master.set(MARKER, `1|${await master.runId()}|0|${GUARD_MS}|more`),
  ],
  ['of the study, without a period', async (master) => master.set(MARKER, `${await master.runId()}|0`)],
];

export const markers: Section = (rule) => {
  for (const [what, put] of MARKERS) {
    rule(`a marker ${what}: MISCONFIGURED for all; it stays, unless by force`, 'none', async (stand) => {
      const [redlock, unguarded] = [await stand.connected(), await stand.connected(UNGUARDED)];
      for (const master of stand.masters) await put(master);
      const read = (): Promise<unknown[]> =>
        Promise.all(stand.masters.map(async (master) => master.get(MARKER).catch(String)));
      const before = await read();
      for (const call of [
        () => redlock.acquire('r', WAITING),
        () => redlock.ready(),
        () => redlock.bootstrap(),
        () => unguarded.acquire('r', WAITING),
      ]) {
        const error = await stand.refused(call());
        expect([error.code, error.attempts]).to.deep.equal(['MISCONFIGURED', 1]);
        expect(error.message).to.contain(MARKER);
      }
      await stand.expectFree();
      expect(await read()).to.deep.equal(before);
      expect((await stand.ok(redlock.bootstrap({ force: true }))).changed).to.equal(true);
      await stand.ok(redlock.acquire('r'));
    });
  }

  rule('a marker that cannot be read is named, its prefix included', 'none', async (stand) => {
    const redlock = await stand.connected({ ...GUARDED, keyPrefix: 'app:' });
    for (const master of stand.masters) await master.set('quorate:guard:app:', 'something');
    expect((await stand.refused(redlock.acquire('r'))).message).to.contain('quorate:guard:app:');
  });

  rule('a minority of unreadable markers costs no lease', 'none', async (stand) => {
    const redlock = await stand.started();
    for (const master of stand.minority) await master.putData(MARKER);
    const lease = await stand.ok(redlock.acquire('r'));
    await stand.ok(lease.extend());
  });
};

/** It is one guard for all who use the masters. */
export const deployments: Section = (rule) => {
  rule('another period: MISCONFIGURED at once, until it is changed by force', 'none', async (stand) => {
    const redlock = await stand.started();
    const other = await stand.connected({ ...GUARDED, restartGuardMs: OTHER_MS });
    for (const call of [() => other.acquire('r', WAITING), () => other.ready(), () => other.bootstrap()]) {
      const error = await stand.refused(call());
      expect([error.code, error.attempts]).to.deep.equal(['MISCONFIGURED', 1]);
      expect(error.message)
        .to.contain('restartGuardMs')
        .and.contain(String(GUARD_MS))
        .and.contain(String(OTHER_MS));
    }
    await stand.expectFree();
    const lease = await stand.ok(redlock.acquire('r'));
    await stand.ok(other.bootstrap({ force: true }));
    for (const call of [() => redlock.acquire('s', WAITING), () => lease.extend()])
      expect((await stand.refused(call())).code).to.equal('MISCONFIGURED');
    expect(lease.status).to.equal('held');
    expect((await stand.refused(redlock.adopt(lease.giveAway()))).code).to.equal('MISCONFIGURED');
    await stand.ok(other.acquire('s')); // votes at once
  });

  rule('a client without a guard: MISCONFIGURED at once, naming both', 'none', async (stand) => {
    await stand.started();
    const error = await stand.refused((await stand.connected(UNGUARDED)).acquire('r', WAITING));
    expect([error.code, error.attempts]).to.deep.equal(['MISCONFIGURED', 1]);
    expect(error.message).to.contain('restartGuardMs').and.contain(String(GUARD_MS)).and.match(/\b0\b/);
    await stand.expectFree();
  });

  rule('a client without guard and fencing sees no marker', 'none', async (stand) => {
    await stand.started();
    await stand.ok(stand.open({ ...UNGUARDED, fencing: false }).acquire('r'));
  });

  rule('fencing off: no counter, and a loss is noticed all the same', 'none', async (stand) => {
    const redlock = await stand.started({ ...GUARDED, fencing: false });
    const lease = await stand.ok(redlock.acquire('r'));
    expect(lease.fence).to.equal(undefined);
    await stand.ok(lease.extend());
    await stand.ok(lease.release());
    await stand.expectFree('quorate:fence:{r}');
    await stand.happen('FLUSHALL');
    stand.expectQuarantined(await stand.refused(redlock.acquire('r')));
    const fenced = await stand.connected();
    stand.expectQuarantined(await stand.refused(fenced.acquire('r', { fencing: false })));
  });

  rule('several key prefixes: a marker for each, and each has to be declared', 'none', async (stand) => {
    const a = await stand.connected({ ...GUARDED, keyPrefix: 'a:' });
    stand.expectQuarantined(await stand.refused(a.acquire('r')));
    const b = await stand.started({ ...GUARDED, keyPrefix: 'b:', restartGuardMs: OTHER_MS });
    await stand.ok(b.acquire('r'));
    await stand.expectFree(MARKER);
    for (const master of stand.masters) {
      const id = await master.runId();
      expect(await master.get('quorate:guard:a:')).to.match(
        new RegExp(`^1\\|${id}\\|[1-9]\\d+\\|${GUARD_MS}$`),
      );
      expect(await master.get('quorate:guard:b:')).to.match(new RegExp(`^1\\|${id}\\|\\d+\\|${OTHER_MS}$`));
    }
    await stand.happen('FLUSHALL');
    stand.expectQuarantined(await stand.refused(b.acquire('s')), OTHER_MS);
  });
};
