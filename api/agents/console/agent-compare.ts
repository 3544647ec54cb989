import type { Rows } from '../../areas.ts';
import { actionButton } from '../../console/action.ts';
import { agentCalls, agentParams, agentTrail, mayOf } from '../../console/agent-frame.ts';
import { page } from '../../console/page.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { changeTable, historyList, whoDid } from '../../console/parts/history.ts';
import { panel, problemPanel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, fieldTime } from '../../console/parts/time.ts';
import { comparePlaces, pastTime } from '../../console/past-time.ts';
import type { Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { div, form, label, input, button, p } = tags;

const fromOf = ({ query, zone }: Visit): string => pastTime(query.get('from') ?? '', Date.now(), zone) ?? '';
const toOf = ({ query, zone }: Visit): string | null => pastTime(query.get('to') ?? '', Date.now(), zone);

/**
 * Compares the agent of the page at two times. The API wants the earlier time first. If `from` is the later one, what it
 * returns is inverted.
 */
const differenceBetween = async (visit: Visit, from: string, to: string | null) => {
  const { ask, rows } = visit;
  const path = agentParams(visit);
  const found = await ask(rows.diffAgent, { ...path, from, ...(to ? { to } : {}) });
  if (found.ok || to === null || found.status !== 422) return found;
  const reversed = await ask(rows.diffAgent, { ...path, from: to, to: from });
  if (!reversed.ok) return found;
  const changes = reversed.value.changes.map((change) => ({ ...change, from: change.to, to: change.from }));
  return { ...reversed, value: { ...reversed.value, from: reversed.value.to, to: reversed.value.from, changes } };
};

/** Returns the revision that an ETag contains, such as 12 for `"12"`. */
const revisionOf = (etag: string | null): string | null => /^"(\d+)"$/.exec(etag ?? '')?.[1] ?? null;

type Entry = ReplyOf<Rows['readAgentHistory']>[number];

/** Returns the events between two positions, which can be in either order. */
const eventsBetween = (entries: readonly Entry[], from: string, to: string): Entry[] => {
  const [first, last] = comparePlaces(from, to) <= 0 ? [from, to] : [to, from];
  return entries.filter(({ position }) => comparePlaces(position, first) > 0 && comparePlaces(position, last) <= 0);
};

const isWithin = (pointer: string, outer: string): boolean => pointer === outer || pointer.startsWith(`${outer}/`);

/** Renders who changed a field last; null if no event says so. `entries` are in order of time, the newest first. */
const lastChangeOf = (entries: readonly Entry[], pointer: string): Child => {
  const last = entries.find(({ changes }) => changes.some((each) => isWithin(each.pointer, pointer) || isWithin(pointer, each.pointer)));
  return last ? div({ class: 'quiet', 'data-by': last.event_id }, 'by ', whoDid(last), ', ', ago(last.at)) : null;
};

const timesForm = (visit: Visit) =>
  form(
    { method: 'get', action: visit.path, class: 'time-form card' },
    label({ for: 'from' }, 'From'),
    input({
      id: 'from',
      name: 'from',
      value: fieldTime(visit.query.get('from') ?? ''),
      required: true,
      placeholder: 'yesterday 9:00',
    }),
    label({ for: 'to' }, 'to'),
    input({ id: 'to', name: 'to', value: fieldTime(visit.query.get('to') ?? ''), placeholder: 'now' }),
    button(null, 'Compare'),
  );

/**
 * The page that compares an agent at two times. It shows the differences and the events between them, and offers to
 * restore the earlier state.
 */
export const agentComparePage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/compare',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent'],
  asks: (visit) => {
    const { ask, rows } = visit;
    const path = agentParams(visit);
    const [from, to] = [fromOf(visit), toOf(visit)];
    const asked = from !== '';
    return {
      ...agentCalls(visit),
      earlier: asked ? ask(rows.getAgent, { ...path, as_of: from }) : Promise.resolve(null),
      diff: asked ? differenceBetween(visit, from, to) : Promise.resolve(null),
      history: asked ? ask(rows.readAgentHistory, path) : Promise.resolve(null),
    };
  },
  title: () => 'Compare',
  trail: agentTrail('Compare'),
  view: ({ agent, may, earlier, diff, history }, visit) => {
    const title = heading(
      `Compare ${agent.ok ? agent.value.name : 'the agent'}`,
      'What differs between two times, and how to restore the earlier state.',
    );
    if (!diff || !earlier)
      return [
        title,
        timesForm(visit),
        emptyState({
          icon: 'history',
          title: 'Which times?',
          why: 'Give the earlier time above. Without a later one, it is compared with now.',
        }),
      ];
    if (!diff.ok) return [title, timesForm(visit), problemPanel(diff.problem)];
    const revision = earlier.ok ? revisionOf(earlier.etag) : null;
    const restore =
      revision !== null && mayOf(may)('agent:settings:write')
        ? actionButton(visit, visit.rows.restoreAgent, agentParams(visit), 'Restore this', {
            icon: 'rotate-ccw',
            look: 'primary',
            body: { revision },
            returnTo: visit.path.replace(/\/compare$/, ''),
            confirm:
              'The settings, repository, budget, model chain and chat settings of the earlier time become those of now. Its name for programs, secrets, roles, skills and tools stay as they are.',
          })
        : null;
    const { changes, from, to } = diff.value;
    const between = history?.ok ? eventsBetween(history.value, from, to) : [];
    return [
      title,
      timesForm(visit),
      div(
        { class: 'stack wide-gap' },
        card(
          'What differs',
          changes.length === 0
            ? p({ class: 'quiet' }, 'Nothing.')
            : changeTable({ changes }, ({ pointer }) => lastChangeOf(between, pointer)),
          toOf(visit) === null && changes.length > 0 && restore ? div({ class: 'actions form-actions' }, restore) : null,
        ),
        history
          ? card(
              'What happened in between',
              panel(history, () => historyList({ ...history, ok: true, value: between })),
            )
          : null,
      ),
    ];
  },
});
