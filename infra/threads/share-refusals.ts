/**
 * The shared resources whose refusals are counted here: the thread that checks guardrail rules, connections that stay open
 * until a refused request has been received, the queue of writes to the spool, and the threads that parse mail and check
 * its senders. The space of the spool, SMTP and rate limits have metrics of their own.
 */
export const SHARED_RESOURCES = ['guardrail-rules', 'closing-connections', 'spool-queue', 'threads'] as const;

export type SharedResource = (typeof SHARED_RESOURCES)[number];

const refusals = new Map<SharedResource, number>();

/** Counts a refusal in this process, because the owner has used up its share. */
export const countShareRefusal = (resource: SharedResource): void => void refusals.set(resource, shareRefusals(resource) + 1);

/** Returns the number of refusals since the start of this process. */
export const shareRefusals = (resource: SharedResource): number => refusals.get(resource) ?? 0;
