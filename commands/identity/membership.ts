import * as Tenant from '../../domain/tenants/tenant.ts';
import type { AggregateReader } from '../context.ts';

/** Whether the user is a member of any tenant that is not closed. @throws Refusal not_caught_up */
export type IsMember = (user_id: string) => Promise<boolean>;

export type MembershipDeps = {
  readonly cache: Pick<AggregateReader, 'load'>;
  readonly membershipPages: (user_id: string) => AsyncIterable<readonly { readonly tenant_id: string }[]>;
  /** Waits until the read model contains all events that are now in the log. @throws Refusal not_caught_up if this takes too long */
  readonly catchUp: () => Promise<void>;
};

/**
 * The read model names the tenants, and their states decide. Without a membership, repeats after the read model has caught up, because the
 * user may have just been invited.
 */
export const createMembershipCheck = ({ cache, membershipPages, catchUp }: MembershipDeps): IsMember => {
  const isProjectedMember = async (user_id: string): Promise<boolean> => {
    for await (const page of membershipPages(user_id))
      for (const { tenant_id } of page) {
        const { state } = await cache.load(Tenant, tenant_id, tenant_id);
        if (!Tenant.isClosed(state) && state.members[user_id]) return true;
      }
    return false;
  };

  return async (user_id) => {
    if (await isProjectedMember(user_id)) return true;
    await catchUp();
    return isProjectedMember(user_id);
  };
};
