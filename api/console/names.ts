import type { Answer } from '../http/ask.ts';
import type { Names } from './name-cache.ts';
import type { Visit } from './visit.ts';

/** How many names a page can show. Further resources of the tenant are shown without their names. */
const MAX_NAMED = 200;
/** The maximum age of the cached names that an open page shows. */
const MAX_AGE_MS = 15_000;

type Named = readonly { readonly id: string; readonly name?: string; readonly label?: string }[];
type Kind = 'agent' | 'integration';

/**
 * Reads names with `read`, and caches those of the present for this session. An open page that updates itself gets them
 * from the cache, because reading hundreds of resources takes more time than anything else on such a page.
 */
const namesOf = async (visit: Visit, kind: Kind, read: () => Promise<Answer<Named>>): Promise<Answer<Names>> => {
  const { cache, session, isRefresh } = visit.nameCache;
  const key = `${kind} ${visit.params.tenant_id} ${session}`;
  const cached = isRefresh ? cache.get(key) : undefined;
  if (cached && Date.now() - cached.readAt < MAX_AGE_MS) {
    visit.calls.push(cached.answer.call);
    // The position of the names is older than that of the page, which follows the changes from its position.
    return { ...cached.answer, position: null };
  }
  const found = await read();
  if (!found.ok) return found;
  const answer = { ...found, value: new Map(found.value.map(({ id, name, label }) => [id, name ?? label ?? id])) };
  if (visit.asOf === null) cache.set(key, { answer, readAt: Date.now() });
  return answer;
};

/** Returns the names in an answer; none if there is no answer, or only a problem. */
export const namesIn = (answer: Answer<Names> | null): Names => (answer?.ok ? answer.value : new Map());

/**
 * Reads the names of resources of the present. The search of names is used for this, because its rows are much smaller
 * than those of a list. It cannot read the past, so pages of the past use the list of the resources.
 */
const findNames = ({ ask, rows, params }: Visit, types: Kind): Promise<Answer<Named>> =>
  ask(rows.autocomplete, { tenant_id: params.tenant_id!, types, limit: MAX_NAMED });

/** Returns the names of the tenant's agents. */
export const agentNames = (visit: Visit): Promise<Answer<Names>> =>
  namesOf(visit, 'agent', () =>
    visit.asOf === null
      ? findNames(visit, 'agent')
      : visit.ask(visit.rows.listAgents, { tenant_id: visit.params.tenant_id!, limit: MAX_NAMED }),
  );

/** Returns the labels of the tenant's webhook integrations; null if the visitor may not list them. */
export const integrationNames = async (visit: Visit): Promise<Answer<Names> | null> => {
  if (!visit.may('tenant:integrations:read')) return null;
  return namesOf(visit, 'integration', () =>
    visit.asOf === null
      ? findNames(visit, 'integration')
      : visit.ask(visit.rows.listWebhookIntegrations, { tenant_id: visit.params.tenant_id!, limit: MAX_NAMED }),
  );
};
