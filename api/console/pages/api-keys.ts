import type { Rows } from '../../areas.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { formLink } from '../action.ts';
import { historyLink } from '../history-link.ts';
import { keyTable } from '../key-table.ts';
import { page } from '../page.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { pager } from '../parts/pager.ts';
import { panel } from '../parts/problem-panel.ts';
import { tenantPath, withQuery } from '../visit.ts';

type Entry = ReplyOf<Rows['listAuditLogs']>[number];
type Uses = Answer<ReplyOf<Rows['listAuditLogs']>> | undefined;

const USES = 200;

/** Maps the ids of keys to what the newest of these audit entries says about them. */
const byKey = <T>(entries: Uses, of: (entry: Entry) => T | null): ReadonlyMap<string, T> =>
  new Map(
    (entries?.ok ? entries.value : []).toReversed().flatMap((entry) => {
      const value = of(entry);
      return entry.resource_id && value !== null ? [[entry.resource_id, value] as const] : [];
    }),
  );

/** The page with the API keys of a tenant. */
export const apiKeysPage = page({
  path: '/console/t/:tenant_id/api-keys',
  permit: 'tenant:keys:write',
  nav: 'API keys',
  categories: ['apikey'],
  asks: ({ ask, rows, params, query, may }) => {
    const cursor = query.get('cursor');
    const tenant_id = params.tenant_id!;
    return {
      keys: ask(rows.listApiKeys, { tenant_id, ...(cursor ? { cursor } : {}) }),
      ...(may('tenant:audit:read')
        ? {
            uses: ask(rows.listAuditLogs, { tenant_id, action: 'api_key.used', limit: USES }),
            issued: ask(rows.listAuditLogs, { tenant_id, action: 'api_key.created', limit: USES }),
          }
        : {}),
    };
  },
  title: () => 'API keys',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ keys, uses, issued }, visit) => {
    const { rows, params } = visit;
    const places = byKey(uses, ({ ip }) => ip);
    const owners = byKey(issued, ({ actor }) => actor.name ?? actor.email);
    const path = { tenant_id: params.tenant_id! };
    const create = formLink(visit, rows.createApiKey, path, 'New API key', { icon: 'plus', look: 'primary', returnTo: visit.path });
    return [
      heading('API keys', 'Credentials for programs. A key acts for the person who made it, within the limits that it got.', create),
      panel(keys, (found) =>
        found.length === 0
          ? emptyState({ icon: 'key-round', title: 'No API keys', why: 'Programs and scripts sign in with a key.' }, create)
          : keyTable(found, {
              title: 'API keys',
              use: ({ id }) => ({ owner: owners.get(id), from: places.get(id) }),
              menu: ({ id }) => [
                historyLink(visit, id),
                formLink(visit, rows.revokeApiKey, { ...path, id }, 'Revoke', { look: 'danger', returnTo: visit.path }),
              ],
            }),
      ),
      pager(keys, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next })),
    ];
  },
});
