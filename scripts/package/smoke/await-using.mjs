/** Node reads this from version 24 on. */
export async function statusWithin(redlock, name) {
  await using lease = await redlock.acquire(name);
  return lease.status;
}
