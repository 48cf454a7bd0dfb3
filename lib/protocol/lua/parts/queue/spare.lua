-- How many more waiters this call may drop, over all queues and operations.
local spare = MAX_DROPPED
