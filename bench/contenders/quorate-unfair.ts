/** This library without a queue: waiters retry, at the resource's home master first. */
import { quorateWith } from './quorate-session.js';

export const contender = quorateWith({ fair: false });
