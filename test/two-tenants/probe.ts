import type { Answer } from '../in-memory.ts';
import { bodyFor, type Call, type Document, type Place } from './places.ts';
import { AWAY, type PrincipalName, type Rule, ruleFor, type State, verdict, type Where } from './rules.ts';
import type { ResourceType, World } from './world.ts';

/** One way to point an operation at things: what stands in each place. */
export type Variant = { readonly label: string; readonly states: readonly State[]; readonly differs: Place | null; readonly asOf?: true };

const STATES: readonly State[] = ['foreign', 'missing', 'malformed', 'other type'];
/** What belongs to no tenant has no foreign one; a tenant is its own. */
const PLATFORM_WIDE: readonly ResourceType[] = [
  'user',
  'model',
  'plan',
  'allowed account',
  'platform key',
  'projection',
  'rebuild',
  'parked event',
];
const MISSING_ID = 'cmissing00000000000000000';

/** Names, which may look like anything. */
const NAMED: readonly ResourceType[] = ['projection', 'rebuild', 'parked event'];

const exists = (call: Call, place: Place, state: State): boolean =>
  state === 'malformed'
    ? !NAMED.includes(place.type)
    : state !== 'foreign' || !(PLATFORM_WIDE.includes(place.type) || (place.type === 'tenant' && !call.path.startsWith('/tenant/')));

const own = (call: Call): State[] => call.places.map(({ in: where }) => (where === 'query' ? 'missing' : 'own'));

/** Own ids everywhere; each place in turn of every other state; everything foreign; own ids in a foreign tenant, and a missing one. */
export const variantsOf = (call: Call): Variant[] => {
  const base: Variant = { label: 'own', states: own(call), differs: null };
  const each = call.places.flatMap((place, index) =>
    STATES.filter((state) => exists(call, place, state)).map(
      (state): Variant => ({ label: `${place.in} ${place.name} ${state}`, states: base.states.with(index, state), differs: place }),
    ),
  );
  if (!call.path.startsWith('/tenant/')) return [base, ...each];
  const asOf: Variant[] = call.parameters?.some(({ name }) => name === 'as_of') ? [{ ...base, label: 'own, as of now', asOf: true }] : [];
  const whole = (state: State): Variant => ({
    label: `everything ${state}`,
    states: call.places.map((place, index) => (place.in === 'query' || !exists(call, place, state) ? base.states[index]! : state)),
    differs: call.places[0]!,
  });
  return [base, ...asOf, ...each, whole('foreign'), whole('missing')];
};

const idFor = ({ own, foreign }: World, { type }: Place, state: State): string => {
  if (state === 'own') return own[type]!;
  if (state === 'foreign') return foreign[type]!;
  if (state === 'malformed') return 'not-an-id';
  if (state === 'other type') return type === 'agent' ? own.integration! : own.agent!;
  return type === 'projection' ? 'nosuch' : MISSING_ID;
};

/** Optional ids of a query are left out but where they are what is varied. */
const sentPlaces = (call: Call, { states, differs }: Variant) =>
  call.places.map((place, index) => ({ place, state: states[index]! })).filter(({ place }) => place.in !== 'query' || place === differs);

const whereOf = (call: Call, rule: Rule, variant: Variant): Where => {
  const sent = sentPlaces(call, variant);
  const of = (type: string, where?: string) => sent.find(({ place }) => place.type === type && (!where || place.in === where))?.state;
  return {
    tenant: of('tenant', 'path') ?? 'own',
    agent: of('agent', rule.inBody ? 'body' : 'path') ?? 'own',
    path: sent.filter(({ place }) => place.in === 'path').map(({ state }) => state),
    body: sent.filter(({ place }) => place.in === 'body').map(({ state }) => state),
    read: call.method === 'GET',
  };
};

const requiredQuery = (call: Call): [string, string][] =>
  (call.parameters ?? []).filter((one) => one.in === 'query' && one.required).map(({ name }) => [name, '2026-01-01T00:00:00Z']);

/** Sends the operation as somebody, pointed as the variant says; `more` goes into the body. */
export const ask = (world: World, call: Call, variant: Variant, who: PrincipalName, more: object = {}): Promise<Answer> => {
  const sent = sentPlaces(call, variant).map(({ place, state }) => ({ ...place, id: idFor(world, place, state) }));
  const among = (where: Place['in']) => Object.fromEntries(sent.filter((one) => one.in === where).map(({ name, id }) => [name, id]));
  const inPath = among('path');
  const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) => inPath[name]!);
  const asOf: [string, string][] = variant.asOf ? [['as_of', new Date().toISOString()]] : [];
  const query = new URLSearchParams([...requiredQuery(call), ...asOf, ...Object.entries(among('query'))]).toString();
  const body = bodyFor(world.document as Document, call, among('body'));
  return world.send(call.method, query ? `${path}?${query}` : path, {
    key: world.keys[who],
    ...(body === undefined ? {} : { body: { ...(body as object), ...more } }),
  });
};

/** Headers that tell of the request and of the log's end, not of what was asked for. */
const PASSING = ['x-request-id', 'ratelimit', 'ratelimit-policy', 'projection-position'];

const withoutSent = (world: World, call: Call, variant: Variant, text: string): string =>
  sentPlaces(call, variant).reduce((rest, { place, state }) => rest.replaceAll(idFor(world, place, state), ''), text);

/** Audit lines that repeat what somebody asked for say nothing that the asker had not said. */
const ECHOES = ['access.refused', 'super_admin.read'];

const withoutEchoes = ({ body, text, headers }: Answer): string => {
  const isLines = headers.get('content-type') === 'application/jsonl';
  const items = isLines ? text.split('\n').flatMap((line) => (line ? [JSON.parse(line)] : [])) : body;
  return Array.isArray(items) ? JSON.stringify(items.filter(({ action }: { action?: string }) => !ECHOES.includes(action ?? ''))) : text;
};

/** What an answer bears of the tenant that the caller has no part in, and did not name. */
export const leaked = (world: World, call: Call, variant: Variant, who: PrincipalName, answer: Answer): string[] => {
  if (!call.path.startsWith('/tenant/')) return [];
  const others = AWAY.includes(who) ? world.marks.home : world.marks.away;
  const shown = withoutSent(world, call, variant, withoutEchoes(answer));
  return others.filter((mark) => shown.includes(mark));
};

/** All of an answer that a caller can tell apart, but for what repeats the request: its id, its path and the ids that it sent. */
export const told = (world: World, call: Call, variant: Variant, { status, headers, text }: Answer): string => {
  const shown = [...headers].filter(([name]) => !PASSING.includes(name));
  return JSON.stringify([
    status,
    shown,
    withoutSent(world, call, variant, text).replace(/"(request_id|instance|as_of)":"[^"]*"/g, '"$1":""'),
  ]);
};

/** What a call may answer with. */
export const expected = (call: Call, variant: Variant, who: PrincipalName): readonly number[] => {
  const rule = ruleFor(call.method, call.path, call.description ?? '');
  return verdict(who, rule, whereOf(call, rule, variant));
};

const SUPER: readonly PrincipalName[] = ['super-admin', 'guest'];

/** Super-admins may know which tenants there are; a stranger's own tenant is no foreign one to them. */
export const comparable = (who: PrincipalName, { differs }: Variant): boolean => !(differs?.type === 'tenant' && SUPER.includes(who));

/** The second tenant is home to them: what they find there is not what is asked here. */
export const atHome = (who: PrincipalName, call: Call, { states }: Variant): boolean =>
  AWAY.includes(who) && call.places.some(({ type }, index) => type === 'tenant' && states[index] === 'foreign');
