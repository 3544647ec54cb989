import type { Ctx } from '../context.ts';

/** Called before the response is sent; does nothing unless the caller is the agent's runner. @throws Refusal unavailable */
export type RecordMemoryRead = (ctx: Ctx, agent_id: string, entries: number) => Promise<void>;
