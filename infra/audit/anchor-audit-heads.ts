import { anchorHead, type PostedHead, type PostHead } from '../../commands/audit/anchor-heads.reactor.ts';
import type { ReactorCtx } from '../../commands/context.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import { headsToAnchor, MAX_HEADS_TO_ANCHOR } from '../../projections/audit/audit-head.queries.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import { createBackoff } from '../backoff.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';
import type { Log } from '../eventstore/event-log.ts';
import { startTimedReactor, type TimedReactorParts } from '../reactors/timed-reactor.ts';

const INTERVAL_MS = 10_000;
const TIMEOUT_MS = 15_000;
const RETRY_DELAY = { minMs: 5_000, maxMs: 300_000, jitter: 0.2 };
const LOCK = 'reactor audit anchors';

type Anchor = { readonly url: string; readonly client: Pick<GuardedClient, 'status'> };

/** One line of JSON, as `annals verify --audit --anchors` reads it. */
const anchorText = ({ head_id: _, ...head }: PostedHead): string => `${JSON.stringify(head)}\n`;

const postTo =
  ({ url, client }: Anchor): PostHead =>
  async (head) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': head.head_id };
    const status = await client.status({ url, method: 'POST', headers, body: anchorText(head), totalMs: TIMEOUT_MS });
    return { host: new URL(url).host, status };
  };

const publicKeysIn = async (ctx: ReactorCtx): Promise<ReadonlyMap<string, string>> => {
  const { state } = await ctx.load(AuditKey, AuditKey.KEYS_ID);
  return new Map(state.keys.map(({ key_id, public_key }) => [key_id, public_key]));
};

export type HeadAnchorerParts = TimedReactorParts & {
  readonly log: Log;
  /** The URL to which audit heads (signed hashes of audit logs) are posted. */
  readonly url: string;
  /** Called when the first audit head must be posted. */
  readonly openClient: () => Promise<Anchor['client']>;
};

/**
 * Posts each signed audit head of every tenant to a URL outside the platform, the oldest first, and records that it was received. After a
 * failure, posts the same head again, with growing delays of up to five minutes.
 */
export const startHeadAnchorer = ({ log, url, openClient, ...parts }: HeadAnchorerParts) => {
  const { logger, now = Date.now } = parts;
  const backoff = createBackoff(RETRY_DELAY);
  let client: Anchor['client'] | undefined;
  let notBefore = 0;

  const anchorAll = async (heads: readonly Omit<PostedHead, 'public_key'>[], at: string): Promise<void> => {
    client ??= await openClient();
    const ctx = reactorContext(log, { at });
    const keys = await publicKeysIn(ctx);
    for (const head of heads) await anchorHead(ctx, postTo({ url, client }), { ...head, public_key: keys.get(head.key_id) ?? null });
  };

  return startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'audit heads cannot be anchored now; trying again',
      run: async (reads, at) => {
        if (now() < notBefore) return false;
        const heads = await headsToAnchor(reads);
        try {
          if (heads.length > 0) await anchorAll(heads, at);
          backoff.reset();
          return heads.length === MAX_HEADS_TO_ANCHOR;
        } catch (error) {
          const delayMs = backoff.next();
          notBefore = now() + delayMs;
          logger.warn({ reason: (error as Error).message, delayMs }, 'AUDIT_ANCHOR_URL has not received an audit head; trying again');
          return false;
        }
      },
    },
    parts,
  );
};
