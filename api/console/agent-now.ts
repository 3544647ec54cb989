import type { Rows } from '../areas.ts';
import type { Answer, ReplyOf } from '../http/ask.ts';
import { formLink } from './action.ts';
import { agentParams } from './agent-frame.ts';
import { badge } from './parts/badge.ts';
import { budgetBar } from './parts/budget-bar.ts';
import { counted } from './parts/count-text.ts';
import { card } from './parts/facts.ts';
import { heldText } from './parts/held-text.ts';
import { givenUpInLastDay } from './parts/last-day.ts';
import { queueCounts } from './parts/queue-text.ts';
import { type Child, tags } from './parts/tags.ts';
import { ago } from './parts/time.ts';
import type { MayOnAgent } from './permission.ts';
import { tenantPath, type Visit } from './visit.ts';

const { a, dd, div, dl, dt, span } = tags;

const HOUR_MS = 3_600_000;

type Presence = ReplyOf<Rows['getRunnerPresence']>;

/** Returns the start of the present hour, in which an hourly budget is spent. */
export const hourStart = (): string => new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString();

/** Starts the calls of the card with the present state of an agent. A page that shows the past asks only for the runner. */
export const askNow = (visit: Visit) => {
  const { ask, rows } = visit;
  const path = agentParams(visit);
  const inPresent = <T>(call: () => Promise<T>): Promise<T | null> => (visit.asOf === null ? call() : Promise.resolve(null));
  return {
    presence: ask(rows.getRunnerPresence, path),
    hours: inPresent(() => ask(rows.readBudgetUsage, { ...path, from: hourStart() })),
    dead: inPresent(() => ask(rows.listTenantDeliveries, { ...path, ...givenUpInLastDay(), limit: 1 })),
    ended: inPresent(() => ask(rows.summarizeDeliveries, { ...path, ...givenUpInLastDay() })),
  };
};

type Calls = ReturnType<typeof askNow>;
type Answers = { readonly [Name in keyof Calls]: Awaited<Calls[Name]> };

const line = (name: string, value: Child, action: Child = null): Child =>
  div(null, dt(null, name), dd(null, div(null, value), action === null ? null : div({ class: 'now-action' }, action)));

const runnerText = ({ connected_since, last_seen_at }: Presence): Child =>
  connected_since
    ? span(null, badge('connected'), ' since ', ago(connected_since))
    : span(null, badge('inactive', 'not connected'), ', last seen ', ago(last_seen_at));

const queueText = ({ oldest_waiting_at, held, ...counts }: Presence): Child =>
  span(
    null,
    queueCounts(counts),
    oldest_waiting_at ? [', oldest ', ago(oldest_waiting_at)] : null,
    held ? [', ', badge('held'), ' ', heldText(held)] : null,
  );

/** Renders how many deliveries were given up in the last 24 hours, and the one that was received last of these. */
const errorLine = ({ dead, ended }: Answers, at: (rest: string) => string, agent_id: string): Child => {
  const last = dead?.ok ? dead.value[0] : undefined;
  if (!last) return null;
  const count = ended?.ok ? ended.value.outcomes.dead : 1;
  const all = new URLSearchParams({ ...givenUpInLastDay(), agent_id });
  const words = last.last_failure?.reason ?? 'A delivery was given up, and the runner has not reported why';
  return line(
    'Error',
    span(null, a({ href: at(`/deliveries/${last.id}`) }, words), ', ', ago(last.received_at)),
    a({ href: `${at('/deliveries')}?${all}` }, `${counted(count, 'delivery')} given up in 24 h`),
  );
};

const orProblem = <T>(answer: Answer<T>, show: (value: T) => Child): Child =>
  answer.ok ? show(answer.value) : span({ class: 'quiet' }, answer.problem.detail);

/** Renders the present state of an agent: its runner, queue and budget, and its last failure. */
export const nowCard = (visit: Visit, answers: Answers, onAgent: MayOnAgent) => {
  const path = agentParams(visit);
  const at = (rest: string) => tenantPath(path.tenant_id, rest);
  const { presence, hours } = answers;
  const hour = hours?.ok ? hours.value.at(-1) : undefined;
  const change = formLink(visit, visit.rows.changeAgentBudget, path, 'Change', { onAgent, returnTo: visit.path, look: 'small' });
  return card(
    'Now',
    dl(
      { class: 'now' },
      line(
        'Runner',
        orProblem(presence, runnerText),
        presence.ok && !presence.value.connected_since ? a({ href: `${visit.path}/runner` }, 'Connect one') : null,
      ),
      line('Queue', orProblem(presence, queueText), a({ href: at(`/deliveries?agent_id=${path.agent_id}`) }, 'Deliveries')),
      hour ? line('Budget', budgetBar(hour), change) : null,
      errorLine(answers, at, path.agent_id),
    ),
  );
};
