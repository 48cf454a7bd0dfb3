/** A test of node:test that fails and leaves its masters open. The process ends by itself, never by `exit`. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { MemoryMasters } from '../../lib/testing/index.js';

void test('it fails before it closes its masters', async () => {
  const masters = new MemoryMasters(3);
  const lease = await masters.redlock().acquire('r', { renew: true });
  lease.signal.addEventListener('abort', () => undefined);
  assert.equal(lease.status, 'lost');
});
