/** What is used of luaparse, which has no types of its own. */
declare module 'luaparse' {
  const luaparse: {
    parse(source: string, options: Readonly<Record<string, unknown>>): unknown;
  };
  // eslint-disable-next-line import/no-default-export -- a CommonJS module
  export default luaparse;
}
