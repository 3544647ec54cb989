import type { Rows } from '../../areas.ts';
import { page } from '../../console/page.ts';
import { counted, countText } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { moduleScript } from '../../console/parts/module-script.ts';
import { nextCursor, pager } from '../../console/parts/pager.ts';
import { panel, problemPanel } from '../../console/parts/problem-panel.ts';
import { headProof } from '../../console/parts/proof.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { exportCard } from './export-card.ts';

const { a, aside, div, li, ol, p, span } = tags;

type Head = ReplyOf<Rows['listAuditHeads']>[number];
type Key = ReplyOf<Rows['listAuditKeys']>[number];

/** A head of the list, with the size and the root of the previous one if the list has it. */
type Listed = { readonly head: Head; readonly before: { readonly size: number; readonly root: string } | null };

const listedOf = (heads: readonly Head[]): readonly Listed[] =>
  heads.map((head, index) => {
    const before = heads[index + 1];
    return { head, before: before?.size === head.previous_size ? { size: before.size, root: before.root } : null };
  });

const headTable = (heads: readonly Head[], { params }: Visit) => {
  const tenant_id = params.tenant_id!;
  return dataTable<Listed>(
    {
      ...{ title: 'Signed heads', kind: 'head', nameTitle: 'Entries', id: ({ head }) => String(head.size) },
      name: ({ head }) => counted(head.size, 'entry'),
      details: ({ head }) => [`${countText(head.size - head.previous_size)} more, root `, shortId(head.root, 'the root')],
      columns: [
        { title: 'Signature', cell: ({ head, before }) => headProof(tenant_id, head, before) },
        { title: 'Signed', cell: ({ head }) => ago(head.at) },
        { title: 'Anchored', cell: ({ head }) => (head.anchored_at ? ago(head.anchored_at) : 'only on the platform') },
        { title: 'Key', cell: ({ head }) => shortId(head.key_id, 'the id of the key') },
      ],
      menu: ({ head }) => [
        a(
          { class: 'button', href: tenantPath(tenant_id, `/audit?${new URLSearchParams({ as_of: head.position })}`) },
          'Audit log at this head',
        ),
        a(
          { class: 'button', href: tenantPath(tenant_id, `/events?${new URLSearchParams({ to_position: head.position })}`) },
          'Events up to it',
        ),
      ],
      attributes: ({ head }) => ({ 'data-position': head.position }),
    },
    listedOf(heads),
  );
};

const keyList = (keys: readonly Key[]) =>
  keys.length === 0
    ? p({ class: 'quiet' }, 'The first key is created with the first head.')
    : ol(
        { class: 'links' },
        ...keys.map(({ key_id, created_at }) => li(null, shortId(key_id, 'the id of the key'), span({ class: 'quiet' }, ago(created_at)))),
      );

const headList = (heads: Answer<readonly Head[]>, visit: Visit) => {
  if (!heads.ok) return problemPanel(heads.problem);
  if (heads.value.length === 0)
    return emptyState(
      { icon: 'fingerprint', title: 'No head is signed yet', why: 'The first one is signed within five minutes after the first entry.' },
      a({ class: 'button', href: tenantPath(visit.params.tenant_id!, '/audit') }, 'To the audit log'),
    );
  return headTable(heads.value, visit);
};

/** The page with the signed heads of the audit log, the signing keys, and the exports. */
export const auditHeadsPage = page({
  path: '/console/t/:tenant_id/audit/heads',
  permit: 'tenant:audit:read',
  nav: 'Audit log',
  polls: true,
  asks: ({ ask, rows, params, query }) => {
    const tenant_id = params.tenant_id!;
    const cursor = query.get('cursor');
    return {
      heads: ask(rows.listAuditHeads, { tenant_id, limit: 20, ...(cursor === null ? {} : { cursor }) }),
      keys: ask(rows.listAuditKeys, { tenant_id }),
      tenant: ask(rows.readTenant, { tenant_id }),
    };
  },
  title: () => 'Heads and export',
  trail: ({ params }) => [['Audit log', tenantPath(params.tenant_id!, '/audit')]],
  view: ({ heads, keys, tenant }, visit) => [
    heading('Heads and export', 'Each head signs all entries before it. Anyone who keeps one can prove later that nothing was changed.'),
    div(
      { class: 'detail' },
      div(
        { class: 'detail-main' },
        headList(heads, visit),
        nextCursor(heads) || visit.query.has('cursor')
          ? pager(heads, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next }))
          : null,
      ),
      aside(
        { class: 'detail-side', 'aria-label': 'Export and keys' },
        exportCard(visit, { position: keys.position, since: tenant.ok ? tenant.value.created_at : new Date().toISOString() }),
        card('Keys', panel(keys, keyList)),
      ),
    ),
    moduleScript('proof-check.mjs'),
    moduleScript('export-check.mjs'),
  ],
});
