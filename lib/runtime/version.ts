/** The version of this package, as in its package.json: a bundle has no such file beside it. A spec compares the two. */
export const VERSION = '0.1.0';
