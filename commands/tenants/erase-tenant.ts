import type { Decision } from '../../domain/aggregate.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import {
  type CountProgress,
  type ErasureRecord,
  type EventCounts,
  receiptText,
  recordCounted,
  recordErased,
  recordKeyDestroyed,
  startErasure,
} from '../../domain/tenants/tenant-erasure.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import type { Reason } from './tenant.ts';

/** All in base64url. `public_key`, the 32 bytes of an Ed25519 key, verifies the signature. */
export type PlatformSignature = { readonly signature: string; readonly key_id: string; readonly public_key: string };

/** The counts so far; `progress` is null if all events are counted. */
export type CountedEvents = { readonly counts: EventCounts; readonly progress: CountProgress | null };

/** What an erasure removes in addition to the streams of aggregates. */
export type ErasurePorts = {
  /** Returns when the tenant's data key was destroyed (RFC 3339 UTC), now or before. @throws Refusal unavailable */
  readonly destroyKey: (tenant_id: string) => Promise<string>;
  /**
   * Counts events before the position `until` (a consistency token), continuing after `progress`. If one call does not suffice, the counts
   * so far.
   * @throws Refusal unavailable
   */
  readonly countEvents: (tenant_id: string, progress: CountProgress | null, until: string) => Promise<CountedEvents>;
  /** The platform's signing key; creates one if there is none. @throws Refusal unavailable */
  readonly newestKeyId: () => Promise<string>;
  /** `key_id` undefined: the platform's oldest key. The same text always gets the same signature. @throws Refusal unavailable */
  readonly sign: (text: string, key_id: string | undefined) => Promise<PlatformSignature>;
};

type RunStep = Ctx['sideEffect'];

const COUNT_AGAIN_SECONDS = 10;

/**
 * Destroys the data key, counts the events, records the result. Each step is recorded before the next starts, so that another call can
 * continue after a crash.
 * @returns the tenant, whose erasure has no `record` if not all events are counted yet
 */
export const advanceErasure = async (
  { transact }: Pick<Ctx, 'transact'>,
  ports: ErasurePorts,
  tenant_id: string,
  run: RunStep = (step) => step(),
): Promise<Loaded<Tenant.Tenant>> => {
  const change = (decide: Decision<Tenant.Tenant, Tenant.TenantEvent>) => transact(Tenant, tenant_id, decide);
  let loaded = await change(() => []);
  if (loaded.state.erasure!.record) return loaded;
  if (!loaded.state.erasure!.key) loaded = await change(recordKeyDestroyed(await run(() => ports.destroyKey(tenant_id))));
  const { key, counted, record } = loaded.state.erasure!;
  if (record) return loaded;
  const { counts, progress } = await run(() => ports.countEvents(tenant_id, counted, key!.position));
  if (progress) return change(recordCounted(progress));
  return change(recordErased(counts, await run(ports.newestKeyId)));
};

/** The receipt is signed by the platform, and the same in every call. @throws Refusal unavailable */
export const receiptOf = async ({ sign }: ErasurePorts, tenant_id: string, record: ErasureRecord) => {
  const { key_destroyed_at, position, streams, events } = record;
  const signed = await sign(receiptText(tenant_id, record), record.key_id);
  return { tenant_id, key_destroyed_at, position, streams, events, ...signed };
};

/**
 * Closes the tenant for good, destroys its data key, and returns the signed receipt, the same if already erased. Workers then remove rows,
 * files and messages, and finish interrupted erasures.
 * @throws Refusal not_found, unavailable (also if not all of the tenant's events could be counted yet)
 */
export const eraseTenant =
  (ports: ErasurePorts) =>
  async (ctx: Ctx, { tenant_id, reason }: Input<typeof Reason, 'tenant_id'>) => {
    await ctx.transact(Tenant, tenant_id, startErasure(reason));
    const loaded = await advanceErasure(ctx, ports, tenant_id, ctx.sideEffect);
    const { record } = loaded.state.erasure!;
    if (!record) {
      const detail = 'The data key is destroyed. The events of the tenant are still being counted: repeat the request to get the receipt';
      throw new Refusal('unavailable', detail, { retryAfter: COUNT_AGAIN_SECONDS });
    }
    return { ...loaded, state: await receiptOf(ports, tenant_id, record) };
  };
