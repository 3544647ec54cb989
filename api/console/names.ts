import type { Rows } from '../areas.ts';
import type { Answer, ReplyOf } from '../http/ask.ts';
import type { Names } from './name-cache.ts';
import type { FilterField } from './parts/filter-form.ts';
import type { Visit } from './visit.ts';

/** How many names a page can show. Further resources of the tenant are shown without their names. */
const MAX_NAMED = 200;
/** The maximum age of the cached names that an open page shows. */
const MAX_AGE_MS = 15_000;

type Named = readonly { readonly id: string; readonly name?: string; readonly label?: string }[];
type Kind = 'agent' | 'integration';

/** For each kind of resource, the operation that lists its resources. */
const LISTS = { agent: 'listAgents', integration: 'listWebhookIntegrations' } as const;

/**
 * Reads the names of the tenant's resources of a kind. The search of names is used for this, because its rows are much
 * smaller than those of a list. It cannot read the past, so pages that show the past use the list.
 */
const readNames = ({ ask, rows, params, asOf }: Visit, kind: Kind): Promise<Answer<Named>> => {
  const sent = { tenant_id: params.tenant_id!, limit: MAX_NAMED };
  return asOf === null ? ask(rows.autocomplete, { ...sent, types: kind }) : ask(rows[LISTS[kind]], sent);
};

/** Returns the name of the resource by which the page is filtered, if it is not among the names that were read. */
const filteredName = async (visit: Visit, kind: Kind, names: Names): Promise<Named> => {
  const id = visit.query.get(`${kind}_id`);
  if (!id || names.size < MAX_NAMED || names.has(id) || visit.asOf !== null) return [];
  const found = await visit.ask(visit.rows.autocomplete, { tenant_id: visit.params.tenant_id!, q: id, types: kind, limit: 1 });
  return found.ok ? found.value : [];
};

/**
 * Returns the names of the tenant's resources of a kind. Those of the present are cached for this session. An open page
 * that updates itself gets them from the cache, because it updates itself up to twice a second.
 */
const namesOf = async (visit: Visit, kind: Kind): Promise<Answer<Names>> => {
  const { cache, session, isRefresh } = visit.nameCache;
  const key = `${kind} ${visit.params.tenant_id} ${session}`;
  const cached = isRefresh ? cache.get(key) : undefined;
  if (cached && Date.now() - cached.readAt < MAX_AGE_MS) {
    visit.calls.push(cached.answer.call);
    // The position of the names is older than that of the page, which follows the changes from its position.
    return { ...cached.answer, position: null };
  }
  const found = await readNames(visit, kind);
  if (!found.ok) return found;
  const mapOf = (named: Named) => new Map(named.map(({ id, name, label }) => [id, name ?? label ?? id]));
  const value = mapOf(found.value);
  const answer = { ...found, value: new Map([...value, ...mapOf(await filteredName(visit, kind, value))]) };
  if (visit.asOf === null) cache.set(key, { answer, readAt: Date.now() });
  return answer;
};

/** Returns the names in an answer; none if there is no answer, or only a problem. */
export const namesIn = (answer: Answer<Names> | null): Names => (answer?.ok ? answer.value : new Map());

/** Returns the names of the tenant's agents. */
export const agentNames = (visit: Visit): Promise<Answer<Names>> => namesOf(visit, 'agent');

type Member = ReplyOf<Rows['listMembers']>[number];
/** The members among some people, by their ids; null for those that are not members of the tenant. */
export type People = ReadonlyMap<string, Member | null>;

/** Reads which of these people are members of the tenant, of at most 200 of them. Returns null if there are no ids. */
export const membersAmong = async (
  { ask, rows, params }: Visit,
  people: readonly (string | null | undefined)[],
): Promise<Answer<People> | null> => {
  const ids = [...new Set(people)].filter((id) => typeof id === 'string').slice(0, MAX_NAMED);
  if (ids.length === 0) return null;
  const found = await ask(rows.listMembers, { tenant_id: params.tenant_id!, user_id: ids.join(','), limit: MAX_NAMED });
  if (!found.ok) return found;
  const members = new Map(found.value.map((one) => [one.user_id, one]));
  return { ...found, value: new Map(ids.map((id) => [id, members.get(id) ?? null])) };
};

/** Returns the members in an answer; none if there is no answer, or only a problem. */
export const peopleIn = (answer: Answer<People> | null): People => (answer?.ok ? answer.value : new Map());

/** Returns the names of the members in an answer. */
export const peopleNames = (answer: Answer<People> | null): Names =>
  new Map([...peopleIn(answer)].flatMap(([id, member]) => (member ? [[id, member.name ?? member.email] as const] : [])));

/** Returns the labels of the tenant's webhook integrations; null if the visitor may not list them. */
export const integrationNames = async (visit: Visit): Promise<Answer<Names> | null> =>
  visit.may('tenant:integrations:read') ? namesOf(visit, 'integration') : null;

/**
 * Returns what can be chosen in a filter by a resource of the tenant: all of them or, if there may be more than were
 * read, a search.
 */
export const chosenByName = ({ params, query }: Visit, kind: Kind, names: Names): Pick<FilterField, 'choices' | 'source' | 'valueName'> =>
  names.size < MAX_NAMED
    ? { choices: [...names].map(([value, name]) => ({ value, name })).toSorted((one, other) => one.name.localeCompare(other.name)) }
    : {
        choices: null,
        source: `/tenant/${params.tenant_id}/autocomplete?types=${kind}&limit=50`,
        valueName: names.get(query.get(`${kind}_id`) ?? '') ?? '',
      };
