/** The same with longer pauses, as people write it. */
import { pollingEvery } from './floor-polling.js';

export const contender = pollingEvery({ least: 10, most: 30 });
