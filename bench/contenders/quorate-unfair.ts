/** This library without waiting in line: who is refused tries again, at the resource's home master first. */
import { quorateWith } from './quorate-session.js';

export const contender = quorateWith({ fair: false });
