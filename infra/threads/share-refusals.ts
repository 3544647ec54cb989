/**
 * What is refused to one owner so that others are served: the check of a delivery's guardrail rules, the waiting of a
 * connection for the end of a refused request, the writing of a delivery into the spool, and a task of a thread for bytes
 * from outside. Refusals of the spool, of SMTP and of rate limits have metrics of their own.
 */
export const SHARED_RESOURCES = ['guardrail-rules', 'closing-connections', 'spool-queue', 'threads'] as const;

export type SharedResource = (typeof SHARED_RESOURCES)[number];

const refusals = new Map<SharedResource, number>();

/** Counts a refusal in this process, because the owner has used up its share. */
export const countShareRefusal = (resource: SharedResource): void => void refusals.set(resource, shareRefusals(resource) + 1);

/** Returns the number of refusals since the start of this process. */
export const shareRefusals = (resource: SharedResource): number => refusals.get(resource) ?? 0;
