#!/usr/bin/env node
/** The command `quorate`. An entry of its own: nothing of it is loaded with the library. */
import { program } from './program.js';

// whoever reads the output may stop reading: `quorate status --names '*' | head`, `quorate cron … 2>&1 | head`
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
void program(process.argv.slice(2)).then((exitCode) => (process.exitCode = exitCode));
