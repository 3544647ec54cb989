import type { Rows } from '../areas.ts';
import type { Answer, ReplyOf } from '../http/ask.ts';
import { actionButton } from './action.ts';
import { agentParams } from './agent-frame.ts';
import { counted } from './parts/count-text.ts';
import { icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import { zoned } from './parts/time.ts';
import { type MayOnAgent, mayCall, mayReadDeliveries } from './permission.ts';
import { tenantPath, type Visit } from './visit.ts';

const { a, div, p } = tags;

type Agent = Answer<ReplyOf<Rows['getAgent']>>;

type Calls = {
  readonly history: Promise<Answer<ReplyOf<Rows['readAgentHistory']>> | null>;
  readonly blocked: Promise<Answer<ReplyOf<Rows['summarizeDeliveries']>> | null>;
};
type Answers = { readonly [Name in keyof Calls]: Awaited<Calls[Name]> };

/** Since when an agent is paused (null if its history does not say), and how many deliveries were blocked for this reason. */
type Paused = { readonly since: string | null; readonly blocked: number };

/** Why deliveries to a paused agent are blocked. */
const REASON = 'agent_inactive';

const filtersOf = (since: string | null): Readonly<Record<string, string>> => ({
  ...{ outcome: 'blocked', reason: REASON },
  ...(since && { from: since }),
});

const sinceIn = (history: Answers['history']): string | null => {
  const entries = history?.ok ? history.value : [];
  return entries.find(({ changes }) => changes.some(({ pointer, to }) => pointer === '/is_active' && to === false))?.at ?? null;
};

/** Reads how many deliveries were blocked since an agent was paused; nothing if it is not paused, and on pages of the past. */
export const askPaused = (visit: Visit, reading: Promise<Agent>): Calls => {
  const { ask, rows, asOf } = visit;
  const path = agentParams(visit);
  const history = reading.then((agent) => (asOf === null && agent.ok && !agent.value.is_active ? ask(rows.readAgentHistory, path) : null));
  const blocked = history.then((found) =>
    found === null ? null : ask(rows.summarizeDeliveries, { ...path, ...(filtersOf(sinceIn(found)) as object) }),
  );
  return { history, blocked };
};

/** Renders the button that activates the agent, and then shows the form that releases what was blocked meanwhile. */
const releaseButton = (visit: Visit, { since, blocked }: Paused, onAgent: MayOnAgent): Child => {
  const { rows } = visit;
  const path = agentParams(visit);
  if (!mayCall(visit, rows.replayTenantDeliveries) || !onAgent('agent:assign')) return null;
  const filters = new URLSearchParams({ ...path, ...filtersOf(since), to: new Date().toISOString(), return_to: visit.path });
  return actionButton(visit, rows.updateAgent, path, `Activate and release ${blocked} …`, {
    ...{ onAgent, icon: 'play', body: { is_active: 'true' } },
    next: `/console/run/replayTenantDeliveries?${filters}`,
  });
};

/** Says how many deliveries were blocked while the agent was paused, and offers to release them; null if it is not paused. */
export const pausedNote = (visit: Visit, answers: Answers, onAgent: MayOnAgent): Child => {
  if (answers.history === null || !answers.blocked?.ok) return null;
  const since = sinceIn(answers.history);
  const { blocked } = answers.blocked.value.outcomes;
  const { tenant_id, agent_id } = agentParams(visit);
  const period: Readonly<Record<string, string>> = since === null ? { period: 'all' } : { from: since };
  const query = new URLSearchParams({ state: 'blocked', reason: REASON, agent_id, ...period });
  const all = `${tenantPath(tenant_id, '/deliveries')}?${query}`;
  const when = since === null ? 'The agent is paused' : ['The agent is paused since ', zoned(since, 'minute')];
  if (!mayReadDeliveries(visit, onAgent)) return div({ class: 'note', 'data-paused': '' } as never, icon('pause'), p(null, when, '.'));
  if (blocked === 0)
    return div({ class: 'note', 'data-paused': '0' } as never, icon('pause'), p(null, when, ': no delivery was blocked meanwhile.'));
  return div(
    { class: 'note', 'data-paused': String(blocked) } as never,
    icon('pause'),
    div(
      null,
      p(null, when, ': ', a({ href: all }, counted(blocked, 'delivery')), ` ${blocked === 1 ? 'was' : 'were'} blocked meanwhile.`),
      div({ class: 'actions' }, releaseButton(visit, { since, blocked }, onAgent)),
    ),
  );
};
