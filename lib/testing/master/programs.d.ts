/** The scripts as JavaScript: `programs.js`, which is made of their Lua by `scripts/lua`, and not kept in git. */
import type { Table, Values } from './lua.js';

/** Runs the script of that name on the data that `runOn` was given. @throws LuaError */
export function run(name: string, keys: Table, args: Table): Values;
