/** A Lua script as it is sent: its name is for us, the servers know it by its source. */
export interface Script {
  readonly name: string;
  readonly source: string;
}
