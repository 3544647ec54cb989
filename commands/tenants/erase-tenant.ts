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

/**
 * A signature of the platform (base64url), and the public key that verifies it: the 32 bytes of an Ed25519 key in
 * base64url.
 */
export type PlatformSignature = { readonly signature: string; readonly key_id: string; readonly public_key: string };

/** The counts so far. If `progress` is null, all events are counted. */
export type CountedEvents = { readonly counts: EventCounts; readonly progress: CountProgress | null };

/** What the erasure of a tenant needs in addition to the streams of aggregates. */
export type ErasurePorts = {
  /**
   * Destroys the tenant's data key, and returns the time at which it was destroyed (RFC 3339 UTC). If this was done
   * before, returns that time.
   * @throws Refusal unavailable
   */
  readonly destroyKey: (tenant_id: string) => Promise<string>;
  /**
   * Counts the events of the tenant before the position `until` (a consistency token). Counting continues after
   * `progress`, if it is given. If one call does not suffice, returns the counts so far.
   * @throws Refusal unavailable
   */
  readonly countEvents: (tenant_id: string, progress: CountProgress | null, until: string) => Promise<CountedEvents>;
  /**
   * Returns the id of the platform's newest signing key. Creates a key if there is none. @throws Refusal unavailable
   */
  readonly newestKeyId: () => Promise<string>;
  /**
   * Signs a text with the platform's key `key_id` or, if that is undefined, with the platform's oldest key. The same
   * text always gets the same signature.
   * @throws Refusal unavailable
   */
  readonly sign: (text: string, key_id: string | undefined) => Promise<PlatformSignature>;
};

type RunStep = Ctx['sideEffect'];

const COUNT_AGAIN_SECONDS = 10;

/**
 * Continues an erasure that has started: destroys the data key, counts the events, and records the result. Each step is
 * recorded before the next one starts, so that another call can continue after a crash.
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

/**
 * Returns the receipt of an erasure, signed by the platform. Every call returns the same receipt.
 * @throws Refusal unavailable
 */
export const receiptOf = async ({ sign }: ErasurePorts, tenant_id: string, record: ErasureRecord) => {
  const { key_destroyed_at, position, streams, events } = record;
  const signed = await sign(receiptText(tenant_id, record), record.key_id);
  return { tenant_id, key_destroyed_at, position, streams, events, ...signed };
};

/**
 * Erases a tenant: closes it for good, destroys its data key, and returns the signed receipt. If the tenant is already
 * erased, returns the same receipt as before. Afterwards, workers remove its rows, files and messages; they also finish
 * an erasure that was interrupted.
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
