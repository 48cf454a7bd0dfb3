/** Whether there was nothing to do. */
export const wasFresh: boolean;
