import { expect } from 'chai';
import { ResourceOrder } from '../../../lib/redis/ordered/resource-order.js';
import type { Command } from '../../../lib/redis/transport.js';
import { settle } from '../../support/fake-time.js';

/** What was sent, and the ends of these calls. */
function sending() {
  const order = new ResourceOrder();
  const sent: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const run = (label: string, command: Command): Promise<unknown> =>
    order.run(command, () => {
      sent.push(label);
      return new Promise((resolve, reject) => {
        ends.set(label, (error) => (error === undefined ? resolve(label) : reject(error)));
      });
    });
  const end = async (label: string, error?: Error): Promise<void> => {
    ends.get(label)?.(error);
    await settle();
  };
  return { order, sent, run, end };
}

const script = (...keys: readonly string[]): Command => ({
  name: 'evalsha',
  args: ['digest', String(keys.length), ...keys, 'a', 'b'],
});

describe('the order of requests for one resource', () => {
  it('a request waits for all before it that name one of its resources; others go at once', async () => {
    const { sent, run, end } = sending();
    void run('claim', script('a', 'quorate:fence:{a}'));
    void run('other', { name: 'set', args: ['b', 'a', 'NX'] });
    void run('several', script('a', 'b'));
    void run('undo', { name: 'del', args: ['c', 'a'] });
    expect(sent).to.deep.equal(['claim', 'other']);
    await end('claim');
    expect(sent).to.deep.equal(['claim', 'other']);
    await end('other');
    expect(sent).to.deep.equal(['claim', 'other', 'several']);
    await end('several');
    expect(sent.at(-1)).to.equal('undo');
  });

  it('one that failed is over, too', async () => {
    const { sent, run, end } = sending();
    const claim = run('claim', script('a'));
    const undo = run('undo', script('a'));
    await Promise.all([claim.catch((error: Error) => error.message), end('claim', new Error('lost'))]);
    await end('undo');
    expect([sent, await undo]).to.deep.equal([['claim', 'undo'], 'undo']);
  });

  it('the marker, the list of taken tokens, arguments and questions about the server hold nothing back', () => {
    const { sent, run } = sending();
    void run('one', script('a', 'quorate:guard', 'quorate:taken'));
    void run('two', script('b', 'quorate:guard', 'quorate:taken'));
    void run('echo', { name: 'eval', args: ['source', '0', 'a'] });
    void run('time', { name: 'time', args: [] });
    void run('info', { name: 'info', args: ['a'] });
    expect(sent).to.deep.equal(['one', 'two', 'echo', 'time', 'info']);
  });

  it('whenOver: once all so far have ended, and at once if there is none', async () => {
    const { order, run, end } = sending();
    let calls = 0;
    order.whenOver(() => calls++);
    await settle();
    expect(calls).to.equal(1);
    void run('claim', script('a'));
    void run('undo', script('a'));
    order.whenOver(() => calls++);
    await end('claim');
    expect(calls).to.equal(1);
    await end('undo');
    expect(calls).to.equal(2);
  });
});
