/** All weaknesses, in the order of the table. Fail-over comes last: it kills servers. */
import { clocks } from './clocks.js';
import { crash } from './crash.js';
import { failOver } from './fail-over.js';
import { lateRelease } from './late-release.js';
import { pause } from './pause.js';
import { race } from './race.js';
import type { Scene } from './scene.js';

export const SCENES: readonly Scene[] = [clocks, race, crash, lateRelease, pause, failOver];
