import type { Principal } from '../../domain/principal.ts';
import { membershipPages } from '../../projections/identity/user.queries.ts';
import type { Reads } from '../../projections/read-model.ts';

type User = Extract<Principal, { kind: 'user' }>;

/** Yields, in pages, the ids of the tenants in which the credential of a user is valid. */
export async function* tenantsOfCaller({ bound_to, user_id }: User, reads: Reads): AsyncGenerator<string[], void> {
  if (bound_to !== null) {
    yield [bound_to];
    return;
  }
  for await (const page of membershipPages(reads, user_id)) yield page.map(({ tenant_id }) => tenant_id);
}
