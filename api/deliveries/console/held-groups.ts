import type { Rows } from '../../areas.ts';
import { badge } from '../../console/parts/badge.ts';
import { counted } from '../../console/parts/count-text.ts';
import { card } from '../../console/parts/facts.ts';
import { heldText } from '../../console/parts/held-text.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';

const { a, div, li, span, strong, ul } = tags;

type Groups = ReplyOf<Rows['listHeldDeliveries']>;

const MAX_LINES = 20;

/** What a card about held deliveries needs besides them. `agents`: their names; absent on the page of the agent. */
type Shown = { readonly agents?: ReadonlyMap<string, string> };

const lineOf = ({ params }: Visit, group: Groups[number], agents: Shown['agents']) => {
  const { agent_id, count, since } = group;
  const query = new URLSearchParams({ state: 'held', agent_id, period: 'all' });
  return li(
    { 'data-kind': 'held-deliveries', 'data-id': `${agent_id} ${group.reason}`, 'data-count': count },
    badge('held', counted(count, 'delivery')),
    div(
      { class: 'grow' },
      a(
        { class: 'row-link', href: `${tenantPath(params.tenant_id!, '/deliveries')}?${query}` },
        strong(null, agents ? (agents.get(agent_id) ?? 'An agent') : 'Held'),
      ),
      div({ class: 'quiet' }, heldText(group)),
    ),
    span({ class: 'quiet' }, 'since ', ago(since)),
  );
};

/** Reads which deliveries are held; null on a page that shows the past, because budgets and rules act in the present. */
export const askHeld = ({ ask, rows, params, asOf }: Visit, agent_id?: string): Promise<Answer<Groups> | null> =>
  asOf === null
    ? ask(rows.listHeldDeliveries, { tenant_id: params.tenant_id!, ...(agent_id !== undefined && { agent_id }) })
    : Promise.resolve(null);

/** Renders which deliveries are held, why, and until when; null if none is. */
export const heldCard = (visit: Visit, held: Answer<Groups> | null, { agents }: Shown = {}): Child => {
  if (held === null) return null;
  if (!held.ok) return problemPanel(held.problem);
  if (held.value.length === 0) return null;
  const others = held.value.slice(MAX_LINES).reduce((sum, { count }) => sum + count, 0);
  return card(
    'Held deliveries',
    ul({ class: 'lines' }, ...held.value.slice(0, MAX_LINES).map((group) => lineOf(visit, group, agents))),
    others === 0 ? null : div({ class: 'quiet' }, `And ${counted(others, 'other delivery')}.`),
  );
};
