/** `quorate migrate` on code of users: what is written, what is found, and that a second run changes nothing. */
import { expect } from 'chai';
import * as parser7 from 'parser7';
import * as parser8 from '@babel/parser';
import { FIXTURES, migrated, shown } from './support/fixtures.js';

// their options differ in names that neither refuses
const PARSERS = { 7: parser7.parse as unknown as typeof parser8.parse, 8: parser8.parse };

describe('the command migrate: fixtures', () => {
  for (const [version, parse] of Object.entries(PARSERS)) {
    describe(`with @babel/parser ${version}`, () => {
      for (const fixture of FIXTURES) {
        it(`${fixture.name}: imports alone; and --api, with what it leaves alone`, () => {
          const path = fixture.pathOf('before');
          const before = fixture.textOf('before');
          const after = migrated(before, { parse, path });
          expect(after.after).to.equal(fixture.textOf('after'));
          const api = migrated(before, { parse, path, isApi: true });
          expect(api.after).to.equal(fixture.textOf('api'));
          expect(api.findings.map((finding) => shown(api, finding))).to.deep.equal(fixture.findings);
        });

        it(`${fixture.name}: again, nothing changes; from the imports alone, --api comes to the same`, () => {
          const path = fixture.pathOf('before');
          const [after, api] = [fixture.textOf('after'), fixture.textOf('api')];
          expect(migrated(after, { parse, path }).after).to.equal(after);
          expect(migrated(api, { parse, path }).after).to.equal(api);
          expect(migrated(api, { parse, path, isApi: true }).after).to.equal(api);
          expect(migrated(after, { parse, path, isApi: true }).after).to.equal(api);
        });
      }
    });
  }

  it('carriage returns, tabs and a byte order mark stay, and no line changes that has no edit', () => {
    for (const fixture of FIXTURES) {
      const odd = (text: string): string => `\uFEFF${text.replaceAll('\n', '\r\n').replaceAll('  ', '\t')}`;
      const { after } = migrated(odd(fixture.textOf('before')), {
        parse: PARSERS[7],
        path: fixture.pathOf('before'),
      });
      expect(after).to.equal(odd(fixture.textOf('after')));
    }
  });
});
