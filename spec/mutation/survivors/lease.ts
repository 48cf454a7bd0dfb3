import type { Survivors } from './survivors.js';

export const LEASE: Survivors = {};
