/** What a job tells. */
import type { JobEvents } from './public.js';

export const JOB_EVENT_NAMES: readonly (keyof JobEvents<unknown>)[] = [
  ...(['scheduled', 'started', 'done', 'failed', 'skipped', 'missed', 'otherSchedule'] as const),
];
