import { tokenOf } from '../../domain/event.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { pictureOf } from '../fixtures/polyglots.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { skillArchive } from '../fixtures/zip-archive.ts';
import { type Rule, ruleFor } from './access-rules.ts';
import type { Dataset } from './dataset.ts';
import {
  hasOnlyAgentRoles,
  OTHER_TENANT_PRINCIPALS,
  type PrincipalName,
  type State,
  seesAllAgents,
  seesPrivateSkills,
  statusesFor,
  type Target,
} from './expected-access.ts';
import { bodyFor, type Call, type Document, type IdPosition } from './id-positions.ts';
import { FREE_NAMES, type ResourceType } from './seed-tenant.ts';

/**
 * The ids that a probe sends. `states` has the state of the id at each place of the request. `differs` is the place
 * whose id is not the caller's own, or null if there is none.
 */
export type Variant = {
  readonly label: string;
  readonly states: readonly State[];
  readonly differs: IdPosition | null;
  readonly asOf?: true;
};

const STATES: readonly State[] = ['foreign', 'missing', 'malformed', 'other type', 'sibling', 'hidden', 'suspended', 'closed'];
/** Types of resources that belong to one agent. Probes also send ids of such resources of another agent. */
const SIBLINGS: readonly ResourceType[] = ['runner key', 'runner credential', 'cron job', 'memory entry'];
/** The types with a hidden resource in the dataset: one that only some callers may see, such as an admin-only agent. */
const HIDDEN: readonly ResourceType[] = ['agent', 'model', 'skill'];
/**
 * Maps some types to the other type that is most similar to them. A probe with an id of a wrong type uses an id of that
 * other type. For types that are not listed, it uses the id of an agent.
 */
const OTHERS: Partial<Record<ResourceType, ResourceType>> = {
  agent: 'integration',
  'api key': 'runner key',
  'runner key': 'api key',
  'platform key': 'api key',
};
/**
 * Types of resources that belong to the platform instead of a tenant. For these types, there are no ids of another
 * tenant.
 */
const PLATFORM_WIDE: readonly ResourceType[] = [
  'user',
  'model',
  'fallback model',
  'plan',
  'allowed account',
  'mailbox',
  'platform key',
  'projection',
  'rebuild',
  'parked event',
  'offered listing',
  'listing slug',
  'benchmark slug',
];
const MISSING_ID = 'cmissing00000000000000000';

/** Types of resources whose ids can be any text, so no id of these types is malformed. */
const NAMED_TYPES: readonly ResourceType[] = [
  'file',
  'credential request',
  'projection',
  'rebuild',
  'parked event',
  'listing slug',
  'benchmark slug',
];

export const isInTenant = ({ path }: Call): boolean => path.startsWith('/tenant/') || path.startsWith('/v1/tenants/');

const isApplicable = (call: Call, position: IdPosition, state: State): boolean => {
  if (FREE_NAMES.includes(position.type)) return false;
  const isInside = position.type !== 'tenant' || isInTenant(call);
  // The audit log can be filtered by API keys of all types, so no type is wrong here.
  if (state === 'other type' && position.in === 'query' && position.name === 'key_id') return false;
  // The id of another type is that of the runner's agent, which is also in the response to the runner.
  if (state === 'other type' && call.path === '/me') return false;
  // GET /me shows the agent of a runner key, whose id is the wrong id that this state would send.
  if (state === 'other type' && call.operationId === 'readMe') return false;
  // The body of a submitted credential may name its request by any text; one that is not an id names no request.
  const isAnyText = position.in === 'body' && position.type === 'credential request';
  if (state === 'malformed') return !isAnyText && !NAMED_TYPES.includes(position.type);
  if (state === 'sibling') return SIBLINGS.includes(position.type);
  if (state === 'hidden') return HIDDEN.includes(position.type) && position.in !== 'query' && isInTenant(call);
  if (state === 'suspended' || state === 'closed') return position.type === 'tenant' && isInside;
  return state !== 'foreign' || (isInside && !PLATFORM_WIDE.includes(position.type));
};

const ownStates = (call: Call): State[] => call.idPositions.map(({ in: where }) => (where === 'query' ? 'missing' : 'own'));

const has = (call: Call, parameter: string): boolean => call.parameters?.some(({ name }) => name === parameter) ?? false;

/**
 * Returns the variants of a request that are tried: with own ids in all places; with one id in each of the other
 * states, for each place; with ids of the other tenant in all places; and with missing ids in all places. If the
 * operation accepts `as_of`, some of them are also tried with the present time as `as_of`.
 */
export const variantsOf = (call: Call): Variant[] => {
  const base: Variant = { label: 'own', states: ownStates(call), differs: null };
  const each = call.idPositions.flatMap((position, index) =>
    STATES.filter((state) => isApplicable(call, position, state)).map(
      (state): Variant => ({
        label: `${position.in} ${position.name} ${state}`,
        states: base.states.with(index, state),
        differs: position,
      }),
    ),
  );
  if (!isInTenant(call)) return [base, ...each];
  const readable = [base, ...each.filter(({ label, differs }) => label.endsWith('foreign') && differs!.in === 'path')];
  const asOf = has(call, 'as_of') ? readable.map((one): Variant => ({ ...one, label: `${one.label}, as of now`, asOf: true })) : [];
  const allIn = (state: State): Variant => ({
    label: `everything ${state}`,
    states: call.idPositions.map((position, index) =>
      position.in === 'query' || !isApplicable(call, position, state) ? base.states[index]! : state,
    ),
    differs: call.idPositions[0]!,
  });
  return [base, ...asOf, ...each, allIn('foreign'), allIn('missing')];
};

export const idFor = ({ own, foreign, sibling, hidden, inactive }: Dataset, { type }: IdPosition, state: State): string => {
  if (state === 'own') return own[type]!;
  if (state === 'foreign') return foreign[type]!;
  if (state === 'malformed') return 'not-an-id';
  if (state === 'other type') return own[OTHERS[type] ?? 'agent']!;
  if (state === 'sibling') return sibling[type]!;
  if (state === 'hidden') return hidden[type]!;
  if (state === 'suspended' || state === 'closed') return inactive[state];
  return type === 'projection' ? 'nosuch' : MISSING_ID;
};

/**
 * Returns the ids that the variant sends, with their places. An id in the query is sent only if the variant is about
 * this id.
 */
export const sentIds = (call: Call, { states, differs }: Variant) =>
  call.idPositions
    .map((position, index) => ({ position, state: states[index]! }))
    .filter(({ position }) => position.in !== 'query' || position === differs);

const targetOf = (call: Call, rule: Rule, variant: Variant): Target => {
  const sent = sentIds(call, variant);
  const of = (type: string, where?: string) =>
    sent.find(({ position }) => position.type === type && (!where || position.in === where))?.state;
  return {
    tenant: of('tenant', 'path') ?? 'own',
    agent: of('agent', rule.inBody ? 'body' : 'path') ?? of('credential request') ?? 'own',
    path: sent.filter(({ position }) => position.in === 'path').map(({ state }) => state),
    body: sent.filter(({ position }) => position.in === 'body').map(({ state }) => state),
    read: call.method === 'GET',
  };
};

const requiredQuery = (call: Call): [string, string][] =>
  (call.parameters ?? []).filter((one) => one.in === 'query' && one.required).map(({ name }) => [name, '2026-01-01T00:00:00Z']);

/**
 * Returns the query parameters for a read as of the present time. A list is limited to one item. If items that the
 * caller may not see counted against the limit, the list could be empty, and the test would fail.
 */
const asOfNow = (call: Call): [string, string][] => [
  ['as_of', new Date().toISOString()],
  ...(has(call, 'limit') ? [['limit', '1'] as [string, string]] : []),
];

const PICTURE = await pictureOf('png');

/**
 * Returns the form with a picture or an archive for operations that accept a form, and undefined for all other
 * operations.
 */
const formFor = ({ requestBody, path }: Call, more: object) =>
  requestBody && 'multipart/form-data' in requestBody.content
    ? {
        raw: formBody(
          ...(path.endsWith('/versions') ? [{ name: 'version', content: '2.0.0' }] : []),
          {
            name: path.endsWith('/versions') ? 'bundle' : /\/memory\/import$|\/messages\/.*\/attachments$/.test(path) ? 'file' : 'upload',
            filename: 'a',
            content: /\/(favicon|logo|icon)$/.test(path) ? PICTURE : skillArchive(),
          },
          ...Object.keys(more).map((name) => ({ name, content: 'x' })),
        ),
        headers: { 'content-type': FORM_TYPE },
      }
    : undefined;

/** Sends the request as this principal, with the ids of the variant. `more` has additional fields for the body. */
export const sendProbe = (dataset: Dataset, call: Call, variant: Variant, who: PrincipalName, more: object = {}): Promise<Answer> => {
  const sent = sentIds(call, variant).map(({ position, state }) => ({ ...position, id: idFor(dataset, position, state) }));
  const among = (where: IdPosition['in']) => Object.fromEntries(sent.filter((one) => one.in === where).map(({ name, id }) => [name, id]));
  const inPath = among('path');
  const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) => inPath[name]!);
  const asOf = variant.asOf ? asOfNow(call) : [];
  const query = new URLSearchParams([...requiredQuery(call), ...asOf, ...Object.entries(among('query'))]).toString();
  const form = formFor(call, more);
  const body = form ? undefined : bodyFor(dataset.document as Document, call, among('body'));
  // If the body is a list, the additional fields become a further item.
  const sentBody = Array.isArray(body) ? [...body, ...(Object.keys(more).length > 0 ? [more] : [])] : { ...(body as object), ...more };
  return dataset.send(call.method, query ? `${path}?${query}` : path, {
    key: dataset.keys[who],
    ...form,
    ...(body === undefined ? {} : { body: sentBody }),
  });
};

/** Returns the statuses that the response to this request may have. */
export const expectedStatuses = (call: Call, variant: Variant, who: PrincipalName): readonly number[] => {
  const rule = ruleFor(call.method, call.path, call.description ?? '');
  return statusesFor(who, rule, targetOf(call, rule, variant));
};

const SUPER_ADMINS: readonly PrincipalName[] = ['super-admin', 'guest'];

/** Returns whether the variant filters a list of the whole tenant by a resource of another agent. */
export const isSiblingFilter = ({ differs, label }: Variant): boolean => differs?.in === 'query' && label.endsWith('sibling');

/**
 * Returns whether a refused request must get the same response as one with an id that does not exist. It need not if
 * the request names another tenant and the caller may know that this tenant exists, as a super-admin or as a member of
 * a suspended tenant; or if it filters by a resource of another agent that the caller may see.
 */
export const isComparable = (who: PrincipalName, variant: Variant): boolean => {
  if (isSiblingFilter(variant)) return !seesAllAgents(who);
  const { differs, label } = variant;
  return !(differs?.type === 'tenant' && (SUPER_ADMINS.includes(who) || (who === 'signed in' && label.endsWith('suspended'))));
};

/**
 * Returns whether the variant sends the id of the admin-only agent or of the private skill to which the principal has
 * access. The principal can then use the agent or skill like any other one.
 */
export const canSeeHidden = (who: PrincipalName, { label, differs }: Variant): boolean =>
  label.endsWith('hidden') &&
  ((differs?.type === 'agent' && !hasOnlyAgentRoles(who)) || (differs?.type === 'skill' && seesPrivateSkills(who)));

/**
 * Returns whether the response shows a position of the log. That position must not depend on events of other tenants.
 */
export const showsPosition = (call: Call, { asOf, differs }: Variant): boolean =>
  differs === null && (asOf === true || call.operationId === 'exportAuditLogs');

/**
 * Describes what is wrong with the log position in a response, which must be that of an event of the caller's tenant. A
 * list as of this position must not be empty if the current list has items. @returns null if nothing is wrong
 */
export const positionError = (
  dataset: Dataset,
  call: Call,
  variant: Variant,
  who: PrincipalName,
  then: Answer,
  now: Answer,
): string | null => {
  if (!showsPosition(call, variant) || then.status >= 300) return null;
  const text = then.headers.get(variant.asOf ? 'projection-position' : 'consistency-token');
  const event = dataset.log.events.find(({ position }) => tokenOf(position) === text);
  if (event?.meta.tenant !== dataset.own.tenant) return 'names the position of another tenant';
  const isEmpty = Array.isArray(then.body) && then.body.length === 0;
  return isEmpty && (now.body as unknown[]).length > 0 && !hasOnlyAgentRoles(who) ? 'is empty as of now' : null;
};

/**
 * The operations in whose paths there is no tenant, and that find resources of all tenants to which the caller belongs:
 * agents, and the caller's own sign-ins.
 */
const OVER_TENANTS: readonly string[] = ['listAssistants', 'endMySignIn'];

/**
 * Returns whether a `foreign` id of this variant belongs to the tenant `away`, of which the principal is a caller. The
 * test does not send such a probe, because the principal may have access there.
 */
export const isOwnTenant = (who: PrincipalName, call: Call, { states }: Variant): boolean =>
  OTHER_TENANT_PRINCIPALS.includes(who) &&
  call.idPositions.some(({ type }, index) => (type === 'tenant' || OVER_TENANTS.includes(call.operationId)) && states[index] === 'foreign');
