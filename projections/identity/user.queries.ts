import { containsPattern, defineList } from '../query.ts';
import { type Page, type PageWindow, pagesOf, type Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AdminUserRow, memberships, table } from './user.ts';

export type Membership = { user_id: string; tenant_id: string; role: string; since: string };

export const USER_SORTS = sortFields(table, AdminUserRow);

const userList = defineList({ table }, (db, { pattern }: { pattern: string | undefined }) =>
  db.selectFrom('users.users as user').$if(pattern !== undefined, (query) => query.where('user.search', 'ilike', pattern!)),
);

/**
 * Returns a page of users. `q` filters by a part of the name or the e-mail address. Memberships are not included: see
 * `membershipsOf`.
 */
export const userPage = (reads: Reads, q: string | undefined, window: PageWindow): Promise<Page> =>
  reads.page(userList, { pattern: q === undefined ? q : containsPattern(q) }, window);

const MEMBERSHIPS_PER_PAGE = 200;

const membershipList = defineList({ table: memberships, tieBreak: 'tenant_id' }, (db, { user_id }: { user_id: string }) =>
  db.selectFrom('users.memberships as membership').where('membership.user_id', '=', user_id),
);

/** Returns all memberships of a user in pages, oldest first. A page is read only when the consumer requests it. */
export async function* membershipPages(reads: Reads, user_id: string): AsyncGenerator<Membership[], void> {
  const window = { sort: { column: 'since', descending: false }, limit: MEMBERSHIPS_PER_PAGE };
  for await (const { body } of pagesOf(reads, membershipList, { user_id }, window)) yield JSON.parse(body) as Membership[];
}

export const membershipsOf = async (reads: Reads, user_id: string): Promise<Membership[]> =>
  (await Array.fromAsync(membershipPages(reads, user_id))).flat();
