/** Writes the tables of docs/MIGRATION.md: `npm run check -- --write`. A spec compares. */
import { readFileSync, writeFileSync } from 'node:fs';
import { withTables } from '../spec/faces/migration-tables.js';

const page = new URL('../docs/MIGRATION.md', import.meta.url);
writeFileSync(page, withTables(readFileSync(page, 'utf8')));
