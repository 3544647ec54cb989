import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { platformPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { span } = tags;

type Model = ReplyOf<Rows['listAllModels']>[number];

/**
 * Renders the actions on a model. Only a model that is not available to all tenants can be opened or closed to single
 * tenants.
 */
const actionsFor = ({ id, available_to_all_tenants }: Model, visit: Visit): readonly Child[] => {
  const { rows, url } = visit;
  const look = { returnTo: url } as const;
  const path = { model_id: id };
  return [
    formLink(visit, rows.updateModel, path, 'Change', look),
    available_to_all_tenants ? null : formLink(visit, rows.openModelToTenant, path, 'Open to a tenant', look),
    available_to_all_tenants ? null : formLink(visit, rows.closeModelToTenant, path, 'Close to a tenant', look),
  ];
};

const modelTable = (visit: Visit, models: readonly Model[]): Child => {
  const names = new Map(models.map(({ id, name }) => [id, name]));
  return dataTable<Model>(
    {
      ...{ title: 'Models', kind: 'model', nameTitle: 'Model', id: ({ id }) => id, name: ({ name }) => name },
      details: ({ provider, slug, is_free }) => [`${provider} · ${slug}`, is_free ? ' · free' : ''],
      columns: [
        { title: 'State', look: 'state', cell: ({ status }) => badge(status) },
        { title: 'For', cell: ({ available_to_all_tenants }) => (available_to_all_tenants ? 'all tenants' : 'chosen tenants') },
        {
          title: 'Replaced by',
          cell: ({ failover_chain }) => failover_chain.map((each) => names.get(each) ?? each).join(', ') || span({ class: 'quiet' }, '—'),
        },
        { title: 'Changed', look: 'number', cell: ({ updated_at }) => ago(updated_at) },
      ],
      menu: (model) => actionsFor(model, visit),
    },
    models,
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
    return [
      heading('Models', 'The language models that agents of all tenants can have in their chains.', add),
      panel(models, (found) => (found.length === 0 ? nothing : modelTable(visit, found))),
      pager(models, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
