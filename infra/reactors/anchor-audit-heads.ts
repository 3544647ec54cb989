import { type AnchorPorts, anchorHead, type PostedHead } from '../../commands/audit/anchor-heads.reactor.ts';
import * as AuditAnchor from '../../domain/audit/audit-anchor.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import { PLATFORM } from '../../domain/event.ts';
import { headsToAnchor, MAX_HEADS_TO_ANCHOR } from '../../projections/audit/audit-head.queries.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import { createBackoff } from '../backoff.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';
import type { Log } from '../eventstore/event-log.ts';
import { startTimedReactor, type TimedReactorParts } from './timed-reactor.ts';

const INTERVAL_MS = 10_000;
const TIMEOUT_MS = 15_000;
const RETRY_DELAY = { minMs: 5_000, maxMs: 300_000, jitter: 0.2 };
const LOCK = 'reactor audit anchors';
const ACTOR = { kind: 'system', id: 'annals' } as const;

type Anchor = { readonly url: string; readonly client: Pick<GuardedClient, 'status'> };

/**
 * Returns the text that is posted for an audit head: one line of JSON. `annals verify --audit --anchors` reads such
 * lines.
 */
const anchorText = ({ head_id: _, ...head }: PostedHead): string => `${JSON.stringify(head)}\n`;

/** Creates the ports with which the reactor works. `at` is the time of the events that it appends (RFC 3339 UTC). */
const anchorPorts = (log: Log, { url, client }: Anchor, at: string): AnchorPorts => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  return {
    post: async (head) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': head.head_id };
      const status = await client.status({ url, method: 'POST', headers, body: anchorText(head), totalMs: TIMEOUT_MS });
      return { host: new URL(url).host, status };
    },
    load: async (tenant) => (await cache.load(AuditAnchor, tenant, tenant)).state,
    transact: (tenant, { version, size }, decide) => {
      const meta = { tenant, actor: ACTOR, at, v: 1 };
      return transact({ aggregate: AuditAnchor, tenant, id: tenant, decide, meta, seed: version === 1 ? `${size}` : `${version} ${size}` });
    },
  };
};

const publicKeysIn = async (log: Log): Promise<ReadonlyMap<string, string>> => {
  const { state } = await openAggregateCache(log, []).load(AuditKey, PLATFORM, AuditKey.KEYS_ID);
  return new Map(state.keys.map(({ key_id, public_key }) => [key_id, public_key]));
};

export type HeadAnchorerParts = TimedReactorParts & {
  readonly log: Log;
  /** The URL to which audit heads (signed hashes of audit logs) are posted. */
  readonly url: string;
  /** Opens the HTTP client. Called when an audit head must be posted for the first time. */
  readonly openClient: () => Promise<Anchor['client']>;
};

/**
 * Starts the reactor that posts each signed audit head of every tenant to a URL outside the platform, the oldest first.
 * It records that the head was received. After a failure, it posts the same head again, with growing delays of up to
 * five minutes.
 */
export const startHeadAnchorer = ({ log, url, openClient, ...parts }: HeadAnchorerParts) => {
  const { logger, now = Date.now } = parts;
  const backoff = createBackoff(RETRY_DELAY);
  let client: Anchor['client'] | undefined;
  let notBefore = 0;

  const anchorAll = async (heads: readonly Omit<PostedHead, 'public_key'>[], at: string): Promise<void> => {
    client ??= await openClient();
    const ports = anchorPorts(log, { url, client }, at);
    const keys = await publicKeysIn(log);
    for (const head of heads) await anchorHead(ports, { ...head, public_key: keys.get(head.key_id) ?? null });
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
