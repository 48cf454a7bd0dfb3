/** This library without fencing tokens: with as few commands as the floor. */
import { quorateWith } from './quorate-session.js';

export const contender = quorateWith({ fencing: false });
