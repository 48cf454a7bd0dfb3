/**
 * mocha's spec reporter, closed by one plain line that CI reads: `N passed, N failed, N skipped`. CommonJS without types, since
 * mocha requires it before any loader for TypeScript is at work.
 */
const { reporters } = require('mocha');

module.exports = class Reporter extends reporters.Spec {
  epilogue() {
    super.epilogue();
    const { passes, failures, pending } = this.stats;
    reporters.Base.consoleLog(`${passes} passed, ${failures} failed, ${pending} skipped`);
  }
};
