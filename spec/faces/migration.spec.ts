import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { format, resolveConfig } from 'prettier';
import { withTables } from './migration-tables.js';

const PAGE = 'docs/MIGRATION.md';

it('docs/MIGRATION.md has the tables of the faces as they are: npm run check -- --write', async () => {
  const page = readFileSync(PAGE, 'utf8');
  const written = await format(withTables(page), { ...(await resolveConfig(PAGE)), parser: 'markdown' });
  expect(page).to.equal(written);
});
