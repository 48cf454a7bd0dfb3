import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { VERSION } from '../../lib/runtime/version.js';

describe('the version', () => {
  it('is that of package.json', () => {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    expect((JSON.parse(text) as { readonly version: string }).version).to.equal(VERSION);
  });
});
