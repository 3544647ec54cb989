import type { Names } from '../../console/name-cache.ts';
import { NOT_ASKED } from '../../console/page.ts';
import { icon } from '../../console/parts/icon.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer } from '../../http/ask.ts';
import { askDelivery, type DeliveryAnswers, deliveryContent } from './delivery.ts';

const { a, aside, div, h2, p, span } = tags;

/** Returns the delivery that is open beside the list; null if none is. */
export const openIn = ({ query }: Visit): string | null => query.get('open') || null;

type Asked = ReturnType<typeof askDelivery>;
type Calls = { readonly [Name in keyof Asked]: Promise<Awaited<Asked[Name]> | null> };

/** Starts the calls of the delivery that is open beside the list. */
export const askOpen = (visit: Visit): Calls => {
  const id = openIn(visit);
  if (id !== null) return askDelivery(visit, id);
  return {
    ...{ delivery: NOT_ASKED, tenant: NOT_ASKED, integration: NOT_ASKED },
    ...{ session: NOT_ASKED, others: NOT_ASKED, presence: NOT_ASKED },
  };
};

type Open = { readonly [Name in keyof Calls]: Awaited<Calls[Name]> } & { readonly agents: Answer<Names> };

const headingBeside = (title: Child, subtitle: Child, ...actions: Child[]): Child =>
  div(
    { class: 'heading' },
    div(null, h2(null, title), subtitle === null ? null : p({ class: 'quiet' }, subtitle)),
    actions.length > 0 ? div({ class: 'actions' }, ...actions) : null,
  );

const linksOf = (visit: Visit, own: string): Child =>
  div(
    { class: 'beside-links' },
    a({ class: 'button small', href: own }, 'Open the page'),
    a(
      {
        class: 'button ghost small',
        href: withQuery(visit, { open: null, tab: null }),
        ...{ 'data-close': '', 'data-hotkey': 'Escape', 'data-key-name': 'Close the delivery' },
      },
      icon('x'),
      span(null, 'Close'),
    ),
  );

/**
 * Renders the list and, beside it, the delivery that the query names. Without JavaScript, and on a narrow screen, the rows
 * lead to the pages of the deliveries.
 */
export const withOpen = (visit: Visit, answers: Open, list: Child): Child => {
  const id = openIn(visit);
  const rows = div({ 'data-opens': '' }, list);
  if (id === null || answers.delivery === null) return rows;
  const own = tenantPath(visit.params.tenant_id!, `/deliveries/${encodeURIComponent(id)}`);
  return div(
    { class: 'with-open' },
    rows,
    aside(
      { class: 'beside', 'aria-label': 'The open delivery', 'data-open': id, 'data-page': own },
      linksOf(visit, own),
      ...deliveryContent(answers as DeliveryAnswers, visit, headingBeside),
    ),
  );
};
