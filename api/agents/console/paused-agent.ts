import type { Rows } from '../../areas.ts';
import { actionButton } from '../../console/action.ts';
import { agentParams } from '../../console/agent-frame.ts';
import { counted } from '../../console/parts/count-text.ts';
import { icon } from '../../console/parts/icon.ts';
import { nextCursor } from '../../console/parts/pager.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { zoned } from '../../console/parts/time.ts';
import { type MayOnAgent, mayCall, mayReadDeliveries } from '../../console/permission.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { boundedMap } from '../../http/scoped-cache.ts';

const { a, div, p } = tags;

type Agent = Answer<ReplyOf<Rows['getAgent']>>;

/** Since when an agent is paused; null if its history does not say. */
type Since = { readonly since: string | null };

type Calls = {
  readonly paused: Promise<Answer<Since> | null>;
  readonly blocked: Promise<Answer<ReplyOf<Rows['summarizeDeliveries']>> | null>;
};
type Answers = { readonly [Name in keyof Calls]: Awaited<Calls[Name]> };

/** Why deliveries to a paused agent are blocked. */
const REASON = 'agent_inactive';

/** The history is searched for the pause in pages of this size, at most this many. */
const PAGE = 200;
const MAX_PAGES = 20;

/**
 * Since when agents are paused, by the id and the revision of the agent: an open page asks every two seconds. Visitors
 * who may read an agent may also read its history.
 */
const pauses = boundedMap<string | null>(1_000);

const filtersOf = (since: string): Readonly<Record<string, string>> => ({ outcome: 'blocked', reason: REASON, from: since });

type History = ReplyOf<Rows['readAgentHistory']>;

const pauseIn = (entries: History): string | undefined =>
  entries.find(({ changes }) => changes.some(({ pointer, to }) => pointer === '/is_active' && to === false))?.at;

/** Returns when the agent was paused last; null if its history cannot be read or is too long. */
const readSince = async (visit: Visit, revision: string | null): Promise<string | null> => {
  const { ask, rows } = visit;
  const path = agentParams(visit);
  const key = revision && `${path.tenant_id} ${path.agent_id} ${revision}`;
  const known = key === null ? undefined : pauses.get(key);
  if (known !== undefined) return known;
  let since: string | null = null;
  let cursor: string | null = null;
  for (let count = 0; count < MAX_PAGES && since === null && (count === 0 || cursor !== null); count++) {
    const found: Answer<History> = await ask(rows.readAgentHistory, { ...path, limit: PAGE, ...(cursor === null ? {} : { cursor }) });
    if (!found.ok) return null;
    since = pauseIn(found.value) ?? null;
    cursor = nextCursor(found);
  }
  if (key !== null) pauses.set(key, since);
  return since;
};

/**
 * Reads since when an agent is paused, and how many deliveries were blocked since; nothing if it is not paused, and on
 * pages that show the past.
 */
export const askPaused = (visit: Visit, reading: Promise<Agent>): Calls => {
  const { ask, rows, asOf } = visit;
  const path = agentParams(visit);
  const paused = reading.then(async (agent): Promise<Answer<Since> | null> => {
    if (asOf !== null || !agent.ok || agent.value.is_active) return null;
    return { ...agent, value: { since: await readSince(visit, agent.headers.get('etag')) } };
  });
  const blocked = paused.then((found) =>
    found?.ok && found.value.since !== null
      ? ask(rows.summarizeDeliveries, { ...path, ...(filtersOf(found.value.since) as object) })
      : null,
  );
  return { paused, blocked };
};

/** Renders the button that activates the agent, and then shows the form that releases what was blocked meanwhile. */
const releaseButton = (visit: Visit, { since, blocked }: { since: string; blocked: number }, onAgent: MayOnAgent): Child => {
  const { rows } = visit;
  const path = agentParams(visit);
  if (!mayCall(visit, rows.replayTenantDeliveries) || !onAgent('agent:assign')) return null;
  // Without `to`: what is blocked after this page was rendered is released, too.
  const filters = new URLSearchParams({ ...path, ...filtersOf(since), return_to: visit.path });
  return actionButton(visit, rows.updateAgent, path, `Activate and release ${blocked} …`, {
    ...{ onAgent, icon: 'play', body: { is_active: 'true' } },
    next: `/console/run/replayTenantDeliveries?${filters}`,
  });
};

/**
 * Says how many deliveries were blocked while the agent was paused, and offers to release them; null if it is not
 * paused. Says only that it is paused if the time is unknown, because the count would include earlier pauses.
 */
export const pausedNote = (visit: Visit, { paused, blocked: summary }: Answers, onAgent: MayOnAgent): Child => {
  if (!paused?.ok) return null;
  const { since } = paused.value;
  const when = since === null ? 'The agent is paused' : ['The agent is paused since ', zoned(since, 'minute')];
  if (since === null || !summary?.ok || !mayReadDeliveries(visit, onAgent))
    return div({ class: 'note', 'data-paused': '' }, icon('pause'), p(null, when, '.'));
  const { blocked } = summary.value.outcomes;
  const { tenant_id, agent_id } = agentParams(visit);
  const query = new URLSearchParams({ state: 'blocked', reason: REASON, agent_id, from: since });
  const all = `${tenantPath(tenant_id, '/deliveries')}?${query}`;
  if (blocked === 0)
    return div({ class: 'note', 'data-paused': '0' }, icon('pause'), p(null, when, ': no delivery was blocked meanwhile.'));
  return div(
    { class: 'note', 'data-paused': String(blocked) },
    icon('pause'),
    div(
      null,
      p(null, when, ': ', a({ href: all }, counted(blocked, 'delivery')), ` ${blocked === 1 ? 'was' : 'were'} blocked meanwhile.`),
      div({ class: 'actions' }, releaseButton(visit, { since, blocked }, onAgent)),
    ),
  );
};
