import { page } from '../../console/page.ts';
import { auditEntry, entryFacts, entryMeta } from '../../console/parts/audit-entry.ts';
import { AUDIT_FILTER_NAMES, AUDIT_FILTERS } from '../../console/parts/audit-filters.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { filterForm, valuesIn } from '../../console/parts/filter-form.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { tags } from '../../console/parts/tags.ts';
import { platformPath, withQuery } from '../../console/visit.ts';

const { a, div, ol } = tags;

/** The page with the audit log of the platform. Its entries are shown as sentences, newest first. */
export const platformAuditPage = page({
  path: '/console/platform/audit-logs',
  permit: 'platform',
  nav: 'Platform audit',
  polls: true,
  asks: ({ ask, rows, query }) => ({ entries: ask(rows.listPlatformAuditLogs, valuesIn(query, [...AUDIT_FILTER_NAMES, 'cursor'])) }),
  title: () => 'Platform audit',
  trail: () => [['Platform', platformPath()]],
  view: ({ entries }, visit) => {
    const filters = valuesIn(visit.query, AUDIT_FILTER_NAMES);
    const isFiltered = Object.keys(filters).length > 0;
    const nothing = emptyState(
      {
        icon: 'scroll-text',
        title: isFiltered ? 'Nothing matches' : 'Nothing happened yet',
        why: 'Every change of the platform appears here.',
      },
      isFiltered ? a({ class: 'button', href: visit.path }, 'Clear the filters') : null,
    );
    return [
      heading('Platform audit', 'Who changed the platform, what the platform did to tenants, and who opened them under break-glass.'),
      div({ class: 'toolbar' }, filterForm(visit.path, AUDIT_FILTERS, filters)),
      panel(entries, (found) =>
        found.length === 0
          ? nothing
          : div(
              { class: 'card' },
              ol(
                { class: 'history' },
                ...found.map((entry) => auditEntry(entry, { isOpen: false, more: [entryFacts(entry), entryMeta(entry)] })),
              ),
            ),
      ),
      pager(entries, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
