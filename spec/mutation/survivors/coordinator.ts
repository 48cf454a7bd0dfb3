import type { Survivors } from './survivors.js';

export const COORDINATOR: Survivors = {};
