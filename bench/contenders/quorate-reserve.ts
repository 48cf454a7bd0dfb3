/** This library without direct hand-over: a vote that was handed over has to be claimed. */
import { quorateWith } from './quorate-session.js';

export const contender = quorateWith({ handOver: 'reserve' });
