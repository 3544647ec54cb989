import { anchorHead, type PostedHead, type PostHead } from '../../commands/audit/anchor-heads.reactor.ts';
import type { ReactorCtx } from '../../commands/context.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import { headsToAnchor, MAX_HEADS_TO_ANCHOR } from '../../projections/audit/audit-head.queries.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import { createBackoff } from '../backoff.ts';
import type { Config } from '../config.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';
import { openOnce } from '../open-once.ts';
import { type Runs, type TimerServices, timedRuns } from '../reactors/timed.ts';

const TIMEOUT_MS = 15_000;
const RETRY_DELAY = { minMs: 5_000, maxMs: 300_000, jitter: 0.2 };

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

type Services = TimerServices & {
  readonly config: Pick<Config, 'auditAnchorUrl'>;
  /** Called when the first audit head must be posted. */
  readonly egress: () => Promise<Anchor['client']>;
};

const openAnchoring = ({ log, config, egress, logger, now = Date.now }: Services): Runs => {
  const backoff = createBackoff(RETRY_DELAY);
  const client = openOnce(egress);
  let notBefore = 0;

  const anchorAll = async (heads: readonly Omit<PostedHead, 'public_key'>[], at: string): Promise<void> => {
    const post = postTo({ url: config.auditAnchorUrl!, client: await client() });
    const ctx = reactorContext(log, { at });
    const keys = await publicKeysIn(ctx);
    for (const head of heads) await anchorHead(ctx, post, { ...head, public_key: keys.get(head.key_id) ?? null });
  };

  return {
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
  };
};

/**
 * Posts each signed audit head (the signed hash of an audit log) of every tenant to a URL outside the platform, the oldest first, and records
 * that it was received. After a failure, posts the same head again, with growing delays of up to five minutes.
 */
export const headAnchoring = timedRuns({
  isWanted: ({ config }: Services) => config.auditAnchorUrl !== undefined,
  lock: 'reactor audit anchors',
  everyMs: 10_000,
  failure: 'audit heads cannot be anchored now; trying again',
  open: openAnchoring,
});
