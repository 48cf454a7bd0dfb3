const quorate = require('quorate');

void import('./smoke.mjs').then(({ smoke }) => smoke(quorate, process.argv[2], process.argv.slice(3)));
