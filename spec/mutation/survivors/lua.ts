import type { Survivors } from './survivors.js';

export const LUA: Survivors = {};
