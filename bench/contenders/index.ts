/** All contenders, by name. Each is loaded only by the process that runs it. */
import type { Contender } from './contender.js';

export const CONTENDERS = {
  floor: async (): Promise<Contender> => (await import('./floor.js')).floor,
  quorate: async (): Promise<Contender> => (await import('./quorate.js')).quorate,
  plain: async (): Promise<Contender> => (await import('./quorate.js')).plain,
} as const;

export type ContenderName = keyof typeof CONTENDERS;
