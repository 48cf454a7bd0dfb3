import type { Survivors } from './survivors.js';

export const PROTOCOL: Survivors = {};
