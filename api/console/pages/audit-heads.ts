import type { Rows } from '../../areas.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { exportCard } from '../export-card.ts';
import { page } from '../page.ts';
import { counted, countText } from '../parts/count-text.ts';
import { emptyState } from '../parts/empty-state.ts';
import { card, facts } from '../parts/facts.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { moduleScript } from '../parts/module-script.ts';
import { nextCursor, pager } from '../parts/pager.ts';
import { panel, problemPanel } from '../parts/problem-panel.ts';
import { headProof } from '../parts/proof.ts';
import { shortId } from '../parts/short-id.ts';
import { tags } from '../parts/tags.ts';
import { ago, exact } from '../parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, aside, code, div, li, ol, p, span, strong } = tags;

type Head = ReplyOf<Rows['listAuditHeads']>[number];
type Key = ReplyOf<Rows['listAuditKeys']>[number];

const headOf = (head: Head, before: Head | undefined, { params }: Visit) => {
  const { size, root, position, at, key_id, previous_size, anchored_at } = head;
  const earlier = before?.size === previous_size ? { size: before.size, root: before.root } : null;
  return li(
    { 'data-kind': 'head', 'data-id': String(size), 'data-position': position },
    span({ class: 'dot' }, icon('fingerprint')),
    div(
      { class: 'entry-more' },
      div(null, strong(null, counted(size, 'entry')), span({ class: 'quiet' }, `, ${countText(size - previous_size)} more, `, ago(at))),
      facts({
        Root: code(null, root),
        Position: code(null, position),
        Signed: exact(at),
        Key: shortId(key_id, 'the id of the key'),
        Anchored: anchored_at ? exact(anchored_at) : 'not outside of the platform',
      }),
      div(null, headProof(params.tenant_id!, head, earlier)),
    ),
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
  const items = heads.value.map((head, index) => headOf(head, heads.value[index + 1], visit));
  return card('Signed heads', ol({ class: 'history' }, ...items));
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
    heading('Heads and export', 'Each head signs all entries before it. Whoever keeps one can prove later that nothing was changed.'),
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
