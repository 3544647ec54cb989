import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { historyLink } from '../../console/history-link.ts';
import { membersAmong, peopleIn } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import { memberName } from '../../console/parts/access-parts.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import type { Child } from '../../console/parts/tags.ts';
import { type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { keyTable } from './key-table.ts';

type Uses = Answer<ReplyOf<Rows['listAuditLogs']>> | undefined;

const USES = 200;

/** Maps the ids of keys to the addresses from which they were last used, as far as the newest entries say. */
const placesOf = (entries: Uses): ReadonlyMap<string, string> =>
  new Map(
    (entries?.ok ? entries.value : [])
      .toReversed()
      .flatMap(({ resource_id, ip }) => (resource_id && ip !== null ? [[resource_id, ip] as const] : [])),
  );

type Key = ReplyOf<Rows['listApiKeys']>[number];

/** Returns the function that renders the actions on a key of the tenant. Only an OWNER may change the keys of an OWNER. */
export const keyMenu =
  (visit: Visit, isOfOwner: (key: Key) => boolean) =>
  (key: Key): readonly Child[] => {
    const { id, name } = key;
    const path = { tenant_id: visit.params.tenant_id!, id };
    if (isOfOwner(key) && visit.tenant?.role !== 'OWNER') return [historyLink(visit, id)];
    return [
      formLink(visit, visit.rows.renameApiKey, { ...path, name }, 'Rename', { returnTo: visit.url }),
      historyLink(visit, id),
      formLink(visit, visit.rows.revokeApiKey, path, 'Revoke', { look: 'danger', returnTo: visit.url }),
    ];
  };

/** The page with the API keys of a tenant. */
export const apiKeysPage = page({
  path: '/console/t/:tenant_id/api-keys',
  permit: 'tenant:keys:write',
  nav: 'API keys',
  categories: ['apikey'],
  asks: (visit) => {
    const { ask, rows, params, query, may } = visit;
    const cursor = query.get('cursor');
    const tenant_id = params.tenant_id!;
    const keys = ask(rows.listApiKeys, { tenant_id, ...(cursor ? { cursor } : {}) });
    return {
      keys,
      people: keys.then((found) =>
        found.ok
          ? membersAmong(
              visit,
              found.value.map(({ owner_id }) => owner_id),
            )
          : null,
      ),
      ...(may('tenant:audit:read') ? { uses: ask(rows.listAuditLogs, { tenant_id, action: 'api_key.used', limit: USES }) } : {}),
    };
  },
  title: () => 'API keys',
  view: ({ keys, people, uses }, visit) => {
    const { rows, params } = visit;
    const places = placesOf(uses);
    const owners = peopleIn(people);
    const nameOf = (id: string): string | undefined => {
      const owner = owners.get(id);
      return owner ? memberName(owner) : owner === null ? 'no longer a member' : undefined;
    };
    const path = { tenant_id: params.tenant_id! };
    const create = formLink(visit, rows.createApiKey, path, 'New API key', { icon: 'plus', look: 'primary', returnTo: visit.path });
    return [
      heading('API keys', 'Credentials for programs. A key acts for the person who made it, within the limits that it got.', create),
      panel(keys, (found) =>
        found.length === 0
          ? emptyState({ icon: 'key-round', title: 'No API keys', why: 'Programs and scripts sign in with a key.' }, create)
          : keyTable(found, {
              title: 'API keys',
              use: ({ id, owner_id }) => ({ owner: nameOf(owner_id), from: places.get(id) }),
              menu: keyMenu(visit, ({ owner_id }) => owners.get(owner_id)?.role === 'OWNER'),
            }),
      ),
      pager(keys, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next })),
    ];
  },
});
