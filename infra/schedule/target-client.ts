import type { TargetAnswer, TargetRequest } from '../../commands/schedule/call-targets.reactor.ts';
import { EgressError } from '../egress/egress-error.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';

const TIMEOUT_MS = 15_000;

/** Sends the request at most once, because redirects are not followed. Returns the status, and drops the body. */
export const sendToTarget = async (
  client: Pick<GuardedClient, 'status'>,
  { url, method, headers, body }: TargetRequest,
): Promise<TargetAnswer> => {
  try {
    return { status_code: await client.status({ url, method, headers, ...(body && { body }), totalMs: TIMEOUT_MS }) };
  } catch (error) {
    if (error instanceof EgressError) return { error: error.message };
    throw error;
  }
};
