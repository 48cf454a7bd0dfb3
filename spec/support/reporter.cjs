/**
 * mocha's spec reporter, closed by a sentence for each reason why specs were skipped, and by one plain line that CI reads:
 * `N passed, N failed, N skipped`. CommonJS without types, since mocha requires it before any loader for TypeScript is at work.
 */
const { reporters } = require('mocha');
const { PARTS, sentence } = require('../../scripts/parts.cjs');

/** As spec/support/parts.ts ends the title of a spec that it skips. */
const REASON = / — (.+) is missing$/;

module.exports = class Reporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    this.skipped = [];
    runner.on('pending', ({ title }) => this.skipped.push(title));
    // at once: a run that is ended has no list of them
    runner.on('fail', (_spec, error) => reporters.Base.consoleLog(`      ${error.message}`));
  }

  epilogue() {
    super.epilogue();
    const { passes, failures, pending } = this.stats;
    for (const line of reasons(this.skipped)) reporters.Base.consoleLog(line);
    reporters.Base.consoleLog(`${passes} passed, ${failures} failed, ${pending} skipped`);
  }
};

function reasons(titles) {
  const counts = new Map();
  for (const title of titles) {
    const [, part] = REASON.exec(title) ?? [];
    const reason = part !== undefined && part in PARTS ? part : undefined;
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([part, specs]) =>
    part === undefined ? `${specs} skipped specs do not say why.` : sentence(part, specs),
  );
}
