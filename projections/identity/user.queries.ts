import type { Condition, Page, PageWindow, Reads, Source } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AdminUserRow, memberships, table, users } from './user.ts';

const from: Source = { projection: users.name, table };

export type Membership = { user_id: string; tenant_id: string; role: string; since: string };

export const USER_SORTS = sortFields(table, AdminUserRow);

/**
 * Returns a page of users. `q` filters by a part of the name or the e-mail address. Memberships are not included: see
 * `membershipsOf`.
 */
export const userPage = (reads: Reads, q: string | undefined, window: PageWindow): Promise<Page> => {
  const where: Condition[] = q === undefined ? [] : [{ column: ['email', 'name'], op: 'contains', value: q }];
  return reads.page({ from, where, ...window });
};

const MEMBERSHIPS_PER_PAGE = 200;

/** Returns every membership of a user in pages, the oldest first. A page is read only when the consumer asks for it. */
export async function* membershipPages(reads: Reads, user_id: string): AsyncGenerator<Membership[], void> {
  const query = {
    from: { projection: users.name, table: memberships },
    where: [{ column: 'user_id', op: '=', value: user_id }] satisfies Condition[],
    sort: { column: 'since', descending: false },
    tieBreak: 'tenant_id',
    limit: MEMBERSHIPS_PER_PAGE,
  };
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page = await reads.page({ ...query, cursor });
    yield JSON.parse(page.body) as Membership[];
    cursor = page.next;
  }
}

/** Returns every membership of a user, the oldest first. */
export const membershipsOf = async (reads: Reads, user_id: string): Promise<Membership[]> =>
  (await Array.fromAsync(membershipPages(reads, user_id))).flat();
