import { countText } from '../../console/parts/count-text.ts';
import { filterTabs } from '../../console/parts/filters.ts';
import { tags } from '../../console/parts/tags.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';

const { span } = tags;

const VIEWS = { all: '/deliveries', problems: '/deliveries/problems', replays: '/jobs?kind=deliveries_replay' } as const;

/** Renders the links between the lists of deliveries, of their problems and of the jobs that send them again. */
export const deliveryViews = (visit: Visit, current: keyof typeof VIEWS, problems: number | null = null) => {
  const linkTo = (view: keyof typeof VIEWS) => ({ value: view, href: tenantPath(visit.params.tenant_id!, VIEWS[view]) });
  const count = problems === null ? null : span({ class: 'count' }, countText(problems));
  return filterTabs('Views', current, [
    { ...linkTo('all'), label: 'All' },
    ...(visit.may('tenant:integrations:read') ? [{ ...linkTo('problems'), label: span(null, 'Problems', count) }] : []),
    { ...linkTo('replays'), label: 'Replays' },
  ]);
};
