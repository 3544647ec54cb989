import * as Tenant from '../../domain/tenants/tenant.ts';
import type { AggregateReader } from '../context.ts';

/** Whether a user is a member of any tenant that is not closed. @throws Refusal not_caught_up */
export type IsMember = (user_id: string) => Promise<boolean>;

export type MembershipDeps = {
  readonly cache: Pick<AggregateReader, 'load'>;
  /** The tenants of which the user is a member by the read model, in pages. */
  readonly membershipPages: (user_id: string) => AsyncIterable<readonly { readonly tenant_id: string }[]>;
  /** Waits until the read model has reached the present end of the log. @throws Refusal not_caught_up */
  readonly catchUp: () => Promise<void>;
};

/**
 * Creates the check who counts as a member at sign-in. The read model names the tenants to look into; each tenant's
 * state decides. Before the check says no, it waits for the read model, because the user may have been invited a moment
 * ago.
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
