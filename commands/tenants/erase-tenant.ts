import * as Tenant from '../../domain/tenants/tenant.ts';
import { type ErasureFacts, receiptText, recordErased, startErasure } from '../../domain/tenants/tenant-erasure.ts';
import type { Ctx, Input } from '../context.ts';
import type { Reason } from './tenant.ts';

/** What the erasure of a tenant needs outside the streams of aggregates. */
export type ErasurePorts = {
  /**
   * Destroys the tenant's data key, if that has not happened yet, and counts what the log still holds of the tenant.
   * @throws Refusal unavailable
   */
  readonly destroyData: (tenant_id: string) => Promise<ErasureFacts>;
  /** Signs a text with the Ed25519 key of the platform. The signature is base64url. */
  readonly sign: (text: string) => string;
};

/**
 * Erases a tenant: closes it for good, destroys its data key, and returns the signed receipt. If the erasure was done
 * before, returns the same receipt. The rows, files and messages of the tenant are removed afterwards, by the workers,
 * which also finish an erasure that was interrupted.
 * @throws Refusal not_found, unavailable
 */
export const eraseTenant =
  (ports: ErasurePorts) =>
  async (ctx: Ctx, { tenant_id, reason }: Input<typeof Reason, 'tenant_id'>) => {
    const started = await ctx.transact(Tenant, tenant_id, startErasure(reason));
    const erased = started.state.erasure!.record
      ? started
      : await ctx.transact(Tenant, tenant_id, recordErased(await ctx.sideEffect(() => ports.destroyData(tenant_id))));
    const record = erased.state.erasure!.record!;
    return { ...erased, state: { tenant_id, ...record, signature: ports.sign(receiptText(tenant_id, record)) } };
  };
