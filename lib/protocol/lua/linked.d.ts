/** The scripts as they are sent: `linked.js`, which `scripts/lua` makes of the files of Lua, and which is not kept in git. */
import type { Script } from '../../redis/script.js';

export const CLAIM: Script;
export const UNDO: Script;
export const RELEASE: Script;
export const BATCH: Script;
export const VOUCH: Script;
export const BOOTSTRAP: Script;
export const HELLO: Script;
export const INSPECT: Script;
export const OUST: Script;
export const TAKE: Script;
export const RIGHTS: Script;
export const NOTE_WRITE: Script;
export const NOTE_DROP: Script;
export const NOTE_READ: Script;
export const RW_CLAIM: Script;
export const RW_OUST: Script;
export const PERMIT_CLAIM: Script;
export const LEAVE: Script;
export const SHARED_BATCH: Script;
export const SURVEY_SHARED: Script;
export const TIMESTAMP_CLAIM: Script;
export const TIMESTAMP_RELEASE: Script;
export const TIMESTAMP_EXTEND: Script;
