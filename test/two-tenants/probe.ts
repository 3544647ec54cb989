import { tokenOf } from '../../domain/event.ts';
import type { Answer } from '../fixtures/in-memory-platform.ts';
import type { ResourceType, World } from './dataset.ts';
import { AWAY, isPlain, type PrincipalName, type Rule, ruleFor, type State, seesNone, verdict, type Where } from './expected-access.ts';
import { bodyFor, type Call, type Document, type Place } from './id-positions.ts';

/** One way to point an operation at things: what stands in each place. */
export type Variant = { readonly label: string; readonly states: readonly State[]; readonly differs: Place | null; readonly asOf?: true };

const STATES: readonly State[] = ['foreign', 'missing', 'malformed', 'other type', 'sibling', 'hidden', 'suspended', 'closed'];
/** Of what each agent has its own. */
const SIBLINGS: readonly ResourceType[] = ['runner key', 'runner credential'];
/** Of what there is some that is not for everybody. */
const HIDDEN: readonly ResourceType[] = ['agent', 'model'];
/** What comes nearest to a thing without being one. */
const OTHERS: Partial<Record<ResourceType, ResourceType>> = {
  agent: 'integration',
  'api key': 'runner key',
  'runner key': 'api key',
  'platform key': 'api key',
};
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

const exists = (call: Call, place: Place, state: State): boolean => {
  const isInside = place.type !== 'tenant' || call.path.startsWith('/tenant/');
  if (state === 'malformed') return !NAMED.includes(place.type);
  if (state === 'sibling') return SIBLINGS.includes(place.type);
  if (state === 'hidden') return HIDDEN.includes(place.type) && place.in !== 'query' && call.path.startsWith('/tenant/');
  if (state === 'suspended' || state === 'closed') return place.type === 'tenant' && isInside;
  return state !== 'foreign' || (isInside && !PLATFORM_WIDE.includes(place.type));
};

const own = (call: Call): State[] => call.places.map(({ in: where }) => (where === 'query' ? 'missing' : 'own'));

const has = (call: Call, parameter: string): boolean => call.parameters?.some(({ name }) => name === parameter) ?? false;

/** Own ids everywhere; each place in turn of every other state; everything foreign; own ids in a foreign tenant, and a missing one. */
export const variantsOf = (call: Call): Variant[] => {
  const base: Variant = { label: 'own', states: own(call), differs: null };
  const each = call.places.flatMap((place, index) =>
    STATES.filter((state) => exists(call, place, state)).map(
      (state): Variant => ({ label: `${place.in} ${place.name} ${state}`, states: base.states.with(index, state), differs: place }),
    ),
  );
  if (!call.path.startsWith('/tenant/')) return [base, ...each];
  const then = [base, ...each.filter(({ label, differs }) => label.endsWith('foreign') && differs!.in === 'path')];
  const asOf = has(call, 'as_of') ? then.map((one): Variant => ({ ...one, label: `${one.label}, as of now`, asOf: true })) : [];
  const whole = (state: State): Variant => ({
    label: `everything ${state}`,
    states: call.places.map((place, index) => (place.in === 'query' || !exists(call, place, state) ? base.states[index]! : state)),
    differs: call.places[0]!,
  });
  return [base, ...asOf, ...each, whole('foreign'), whole('missing')];
};

const idFor = ({ own, foreign, sibling, hidden, late }: World, { type }: Place, state: State): string => {
  if (state === 'own') return own[type]!;
  if (state === 'foreign') return foreign[type]!;
  if (state === 'malformed') return 'not-an-id';
  if (state === 'other type') return own[OTHERS[type] ?? 'agent']!;
  if (state === 'sibling') return sibling[type]!;
  if (state === 'hidden') return hidden[type]!;
  if (state === 'suspended' || state === 'closed') return late[state];
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

/** The newest one alone, which must not be somebody else's that is left out then. */
const asOfNow = (call: Call): [string, string][] => [
  ['as_of', new Date().toISOString()],
  ...(has(call, 'limit') ? [['limit', '1'] as [string, string]] : []),
];

/** Sends the operation as somebody, pointed as the variant says; `more` goes into the body. */
export const ask = (world: World, call: Call, variant: Variant, who: PrincipalName, more: object = {}): Promise<Answer> => {
  const sent = sentPlaces(call, variant).map(({ place, state }) => ({ ...place, id: idFor(world, place, state) }));
  const among = (where: Place['in']) => Object.fromEntries(sent.filter((one) => one.in === where).map(({ name, id }) => [name, id]));
  const inPath = among('path');
  const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) => inPath[name]!);
  const asOf = variant.asOf ? asOfNow(call) : [];
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
  if (!call.path.startsWith('/tenant/') && call.path !== '/me') return [];
  const { suspended, closed } = world.late;
  const others = [
    ...(AWAY.includes(who) ? world.marks.home : world.marks.away),
    closed,
    ...(who === 'signed in' ? [] : [suspended]),
    ...(call.path === '/me' || call.operationId === 'exportAuditLogs' ? [] : [world.hidden.model!]),
    ...(isPlain(who) ? [world.hidden.agent!] : []),
    ...(seesNone(who) && call.operationId === 'listAgents' ? [world.own.agent!] : []),
  ];
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
export const comparable = (who: PrincipalName, { differs, label }: Variant): boolean =>
  !(differs?.type === 'tenant' && (SUPER.includes(who) || (who === 'signed in' && label.endsWith('suspended'))));

/** Who may see the agent for admins only, or is its runner, does there what is asked here of the other one. */
export const isShownAll = (who: PrincipalName, { label, differs }: Variant): boolean =>
  differs?.type === 'agent' && label.endsWith('hidden') && !isPlain(who);

/** Whether the answer tells of a moment of the log; what happened elsewhere since must not be it. */
export const tellsMoment = (call: Call, { asOf, differs }: Variant): boolean =>
  differs === null && (asOf === true || call.operationId === 'exportAuditLogs');

/** What is wrong with the moment that a read says it looked at: it is the tenant's own, and what is there now was there then. */
export const misplaced = (world: World, call: Call, variant: Variant, who: PrincipalName, then: Answer, now: Answer): string | null => {
  if (!tellsMoment(call, variant) || then.status >= 300) return null;
  const text = then.headers.get(variant.asOf ? 'projection-position' : 'consistency-token');
  const event = world.log.events.find(({ position }) => tokenOf(position) === text);
  if (event?.meta.tenant !== world.own.tenant) return 'is of a moment of somebody else';
  const isEmpty = Array.isArray(then.body) && then.body.length === 0;
  return isEmpty && (now.body as unknown[]).length > 0 && !isPlain(who) ? 'shows nothing as of now' : null;
};

/** The second tenant is home to them: what they find there is not what is asked here. */
export const atHome = (who: PrincipalName, call: Call, { states }: Variant): boolean =>
  AWAY.includes(who) && call.places.some(({ type }, index) => type === 'tenant' && states[index] === 'foreign');
