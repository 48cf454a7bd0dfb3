import type { Survivors } from './survivors.js';

export const LINE: Survivors = {};
