import type { ReplyOf } from '../../http/ask.ts';
import { page } from '../page.ts';
import { emptyState } from '../parts/empty-state.ts';
import { facts } from '../parts/facts.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { jsonTree } from '../parts/json-tree.ts';
import { pager } from '../parts/pager.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { shortId } from '../parts/short-id.ts';
import { tags } from '../parts/tags.ts';
import { ago, exact } from '../parts/time.ts';
import type { Rows } from '../rows.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, div, span, ol, li, details, summary, code } = tags;

type Entry = ReplyOf<Rows['listAuditLogs']>[number];

const PASSED = ['action', 'user_id', 'agent_id', 'resource_type', 'resource_id', 'from', 'to', 'cursor'] as const;

const passedQuery = ({ query }: Visit): Readonly<Record<string, string>> =>
  Object.fromEntries(PASSED.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])));

const factsOf = ({ id, action, actor, resource_type, resource_id, ip, user_agent, created_at, position }: Entry) =>
  facts({
    Event: shortId(id, 'the event id'),
    Action: code(null, action),
    Resource: resource_id ? span(null, `${resource_type} `, shortId(resource_id)) : resource_type,
    By: actor.name ?? actor.id,
    Key: actor.key_id ? shortId(actor.key_id, 'the id of the key') : null,
    From: ip ? code(null, ip) : null,
    'User agent': user_agent,
    At: exact(created_at),
    Position: code(null, position),
  });

const entryOf = (entry: Entry) =>
  li(
    { 'data-kind': 'audit', 'data-id': entry.id, 'data-position': entry.position },
    span({ class: 'dot' }, icon(entry.actor.kind === 'user' ? 'user' : entry.actor.kind === 'agent' ? 'bot' : 'cpu')),
    details(
      null,
      summary(
        { class: 'row-link' },
        span({ class: 'sentence' }, entry.summary),
        span({ class: 'quiet' }, entry.ip ? ` from ${entry.ip}, ` : ' ', ago(entry.created_at)),
      ),
      factsOf(entry),
      Object.keys(entry.meta).length > 0 ? jsonTree(entry.meta) : null,
    ),
  );

/** What happened in a tenant, as sentences, the newest first. */
export const auditPage = page({
  path: '/console/t/:tenant_id/audit',
  permit: 'tenant:audit:read',
  nav: 'Audit log',
  asks: (visit) => ({ entries: visit.ask(visit.rows.listAuditLogs, { tenant_id: visit.params.tenant_id!, ...passedQuery(visit) }) }),
  title: () => 'Audit log',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ entries }, visit) => {
    const { cursor, ...filters } = passedQuery(visit);
    const isFiltered = Object.keys(filters).length > 0;
    const list = () => {
      if (!entries.ok) return problemPanel(entries.problem);
      if (entries.value.length > 0) return div({ class: 'card' }, ol({ class: 'history' }, ...entries.value.map(entryOf)));
      return emptyState(
        {
          icon: 'scroll-text',
          title: isFiltered ? 'Nothing matches' : 'Nothing happened yet',
          why: 'Every change of this tenant appears here.',
        },
        isFiltered ? a({ class: 'button', href: visit.path }, 'Clear the filters') : null,
      );
    };
    return [
      heading('Audit log', 'Who did what, from where. It cannot be changed afterwards.'),
      list(),
      pager(entries, cursor === undefined, (next) => withQuery(visit, { cursor: next })),
    ];
  },
});
