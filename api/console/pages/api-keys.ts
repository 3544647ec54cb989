import type { Answer, ReplyOf } from '../../http/ask.ts';
import type { Rows } from '../../routes.ts';
import { actionButton, formLink } from '../action.ts';
import { KEY_COLUMNS, keyRow } from '../key-row.ts';
import { page } from '../page.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { pager } from '../parts/pager.ts';
import { panel } from '../parts/problem-panel.ts';
import { tableOf } from '../parts/table.ts';
import { tenantPath, withQuery } from '../visit.ts';

type Uses = Answer<ReplyOf<Rows['listAuditLogs']>> | undefined;

const USES = 200;

/** Maps the ids of keys to the IP addresses from which they were last used, according to the audit log. */
const placesOf = (uses: Uses): ReadonlyMap<string, string> =>
  new Map(
    (uses?.ok ? uses.value : []).toReversed().flatMap(({ resource_id, ip }) => (resource_id && ip ? [[resource_id, ip] as const] : [])),
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
      ...(may('tenant:audit:read') ? { uses: ask(rows.listAuditLogs, { tenant_id, action: 'api_key.used', limit: USES }) } : {}),
    };
  },
  title: () => 'API keys',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ keys, uses }, visit) => {
    const { rows, params } = visit;
    const places = placesOf(uses);
    const path = { tenant_id: params.tenant_id! };
    const create = formLink(visit, rows.createApiKey, path, 'New API key', { icon: 'plus', look: 'primary', returnTo: visit.path });
    const revoke = (id: string, name: string) =>
      actionButton(visit, rows.revokeApiKey, { ...path, id }, 'Revoke', {
        look: 'small',
        returnTo: visit.path,
        confirm: `Programs with the key ${name} are refused at once, and sessions that it opened end.`,
      });
    return [
      heading('API keys', 'Credentials for programs. A key acts for the person who made it, within the limits that it got.', create),
      panel(keys, (found) =>
        found.length === 0
          ? emptyState({ icon: 'key-round', title: 'No API keys', why: 'Programs and scripts sign in with a key.' }, create)
          : tableOf(
              'API keys',
              KEY_COLUMNS,
              found.map((key) => keyRow(key, revoke(key.id, key.name), places.get(key.id))),
            ),
      ),
      pager(keys, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next })),
    ];
  },
});
