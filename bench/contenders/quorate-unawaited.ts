/** This library for callers that do not wait for the confirmation of a release. */
import { quorateWith } from './quorate-session.js';

export const contender = quorateWith({ awaitRelease: false });
