import type { Rows } from '../areas.ts';
import type { Answer, ReplyOf } from '../http/ask.ts';
import { formLink } from './action.ts';
import { hourStart } from './agent-now.ts';
import { budgetBar, isSpent } from './parts/budget-bar.ts';
import { icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import type { MayOnAgent } from './permission.ts';
import { tenantPath, type Visit } from './visit.ts';

const { a, div, p } = tags;

type Reads = {
  readonly agent: Promise<Answer<ReplyOf<Rows['getAgent']>> | null>;
  readonly presence: Promise<Answer<ReplyOf<Rows['getRunnerPresence']>> | null>;
  readonly hours: Promise<Answer<ReplyOf<Rows['readBudgetUsage']>> | null>;
};
type Answers = { readonly [Name in keyof Reads]: Awaited<Reads[Name]> };

/** Reads what decides whether an agent can answer now; nothing if its id is null. */
export const askWhetherItAnswers = ({ ask, rows, params }: Visit, reading: Promise<string | null>): Reads => {
  const read = <T>(call: (path: { readonly tenant_id: string; readonly agent_id: string }) => Promise<T>): Promise<T | null> =>
    reading.then((agent_id) => (agent_id === null ? null : call({ tenant_id: params.tenant_id!, agent_id })));
  return {
    agent: read((path) => ask(rows.getAgent, path)),
    presence: read((path) => ask(rows.getRunnerPresence, path)),
    hours: read((path) => ask(rows.readBudgetUsage, { ...path, from: hourStart() })),
  };
};

const note = (why: string, text: Child, ...steps: Child[]): Child =>
  div({ class: 'note', role: 'status', 'data-waits-for': why }, icon('info'), div(null, text, div({ class: 'actions' }, ...steps)));

type Noted = { readonly visit: Visit; readonly agent_id: string; readonly onAgent: MayOnAgent };

/** Says above the field for a message why the agent would not answer now, each with the next step; null if nothing is known. */
export const composeNotes = ({ agent, presence, hours }: Answers, { visit, agent_id, onAgent }: Noted): Child => {
  const path = { tenant_id: visit.params.tenant_id!, agent_id };
  const page = tenantPath(path.tenant_id, `/agents/${agent_id}`);
  const hour = hours?.ok ? hours.value.at(-1) : undefined;
  const change = { onAgent, returnTo: visit.path, look: 'small' } as const;
  const notes = [
    agent?.ok && !agent.value.is_active
      ? note(
          'activation',
          p(null, `${agent.value.name} is paused, and reads nothing until it is activated.`),
          a({ class: 'button small', href: page }, 'Open the agent'),
        )
      : null,
    hour && isSpent(hour)
      ? note(
          'budget',
          [p(null, 'The hourly budget of the agent is spent.'), budgetBar(hour)],
          formLink(visit, visit.rows.changeAgentBudget, path, 'Change the budget', change),
        )
      : null,
    presence?.ok && !presence.value.connected_since
      ? note(
          'runner',
          p(null, 'No runner of the agent is connected: your message waits for one.'),
          a({ class: 'button small', href: `${page}/runner` }, 'Runner'),
        )
      : null,
  ].filter((one) => one !== null);
  return notes.length === 0 ? null : div({ class: 'stack below' }, ...notes);
};
