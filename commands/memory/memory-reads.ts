import type { Ctx } from '../context.ts';

/**
 * Records that the calling runner reads entries of the memory of its agent. It is called before the response is sent,
 * and does nothing for other callers. @throws Refusal unavailable if the read cannot be recorded
 */
export type RecordMemoryRead = (ctx: Ctx, agent_id: string, entries: number) => Promise<void>;
