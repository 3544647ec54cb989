import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { formLink } from '../action.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { pager } from '../parts/pager.ts';
import { panel } from '../parts/problem-panel.ts';
import { type Column, tableOf } from '../parts/table.ts';
import { type Child, tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { platformPath, type Visit, withQuery } from '../visit.ts';

const { div, span, strong, td, tr } = tags;

type Model = ReplyOf<Rows['listAllModels']>[number];

const COLUMNS: readonly Column[] = [
  ['Model'],
  ['State'],
  ['For', 'wide-only'],
  ['Replaced by', 'wide-only'],
  ['Changed', 'number wide-only'],
  ['Actions', 'number'],
];

/**
 * Renders the actions on a model. Only a model that is not available to all tenants can be opened or closed to single
 * tenants.
 */
const actionsFor = ({ id, available_to_all_tenants }: Model, visit: Visit): Child => {
  const { rows, url } = visit;
  const look = { look: 'small', returnTo: url } as const;
  const path = { model_id: id };
  return div(
    { class: 'actions' },
    formLink(visit, rows.updateModel, path, 'Change', look),
    available_to_all_tenants ? null : formLink(visit, rows.openModelToTenant, path, 'Open to a tenant', look),
    available_to_all_tenants ? null : formLink(visit, rows.closeModelToTenant, path, 'Close to a tenant', look),
  );
};

const rowOf = (visit: Visit, names: ReadonlyMap<string, string>) => (model: Model) => {
  const { id, name, provider, slug, status, available_to_all_tenants, failover_chain, is_free, updated_at } = model;
  return tr(
    { 'data-kind': 'model', 'data-id': id },
    td({ class: 'main-cell' }, strong(null, name), div({ class: 'quiet clip' }, `${provider} · ${slug}`, is_free ? ' · free' : '')),
    td({ class: 'state-cell' }, badge(status)),
    td({ class: 'wide-only' }, available_to_all_tenants ? 'all tenants' : 'chosen tenants'),
    td({ class: 'wide-only' }, failover_chain.map((each) => names.get(each) ?? each).join(', ') || span({ class: 'quiet' }, '—')),
    td({ class: 'number wide-only' }, ago(updated_at)),
    td({ class: 'number' }, actionsFor(model, visit)),
  );
};

/** The page with the language models of the platform. */
export const platformModelsPage = page({
  path: '/console/platform/models',
  permit: 'platform',
  nav: 'Models',
  polls: true,
  asks: ({ ask, rows, query }) => {
    const cursor = query.get('cursor');
    return { models: ask(rows.listAllModels, cursor ? { cursor } : {}) };
  },
  title: () => 'Models',
  trail: () => [['Platform', platformPath()]],
  view: ({ models }, visit) => {
    const add = formLink(visit, visit.rows.registerModel, {}, 'Register a model', { icon: 'plus', look: 'primary', next: visit.path });
    const nothing = emptyState({ icon: 'cpu', title: 'No models', why: 'Agents need a model before their chain can name one.' }, add);
    const names = new Map(models.ok ? models.value.map(({ id, name }) => [id, name]) : []);
    return [
      heading('Models', 'The language models that agents of all tenants can have in their chains.', add),
      panel(models, (found) => (found.length === 0 ? nothing : tableOf('Models', COLUMNS, found.map(rowOf(visit, names))))),
      pager(models, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
