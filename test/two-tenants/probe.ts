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
  seesPrivateSkills,
  statusesFor,
  type Target,
} from './expected-access.ts';
import { bodyFor, type Call, type Document, type IdPosition } from './id-positions.ts';
import { FREE_NAMES, type ResourceType } from './seed-tenant.ts';

/**
 * A choice of the ids that a probe sends. `states` has the state of the resource for each place of an id in the
 * request. `differs` is the place at which the id is not the caller's own.
 */
export type Variant = {
  readonly label: string;
  readonly states: readonly State[];
  readonly differs: IdPosition | null;
  readonly asOf?: true;
};

const STATES: readonly State[] = ['foreign', 'missing', 'malformed', 'other type', 'sibling', 'hidden', 'suspended', 'closed'];
/** Types of resources that belong to one agent. For these, a probe also sends the id of a resource of another agent. */
const SIBLINGS: readonly ResourceType[] = ['runner key', 'runner credential', 'cron job'];
/** For each of these types, the dataset has a resource that only some callers may see, such as an admin-only agent. */
const HIDDEN: readonly ResourceType[] = ['agent', 'model', 'skill'];
/**
 * For some types, another type that is as similar as possible. A probe sends an id of that type as an id of the wrong
 * type; for all other types, an agent's id.
 */
const OTHERS: Partial<Record<ResourceType, ResourceType>> = {
  agent: 'integration',
  'api key': 'runner key',
  'runner key': 'api key',
  'platform key': 'api key',
};
/**
 * Types of resources that belong to the platform and not to a tenant, so that no probe can use one of another tenant.
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

/** Types of resources whose ids may be any text, so that no probe can use a malformed id. */
const NAMED_TYPES: readonly ResourceType[] = ['file', 'projection', 'rebuild', 'parked event', 'listing slug', 'benchmark slug'];

export const isInTenant = ({ path }: Call): boolean => path.startsWith('/tenant/') || path.startsWith('/v1/tenants/');

const isApplicable = (call: Call, position: IdPosition, state: State): boolean => {
  if (FREE_NAMES.includes(position.type)) return false;
  const isInside = position.type !== 'tenant' || isInTenant(call);
  // The audit log accepts the ids of API keys of every kind.
  if (state === 'other type' && position.in === 'query' && position.name === 'key_id') return false;
  if (state === 'malformed') return !NAMED_TYPES.includes(position.type);
  if (state === 'sibling') return SIBLINGS.includes(position.type);
  if (state === 'hidden') return HIDDEN.includes(position.type) && position.in !== 'query' && isInTenant(call);
  if (state === 'suspended' || state === 'closed') return position.type === 'tenant' && isInside;
  return state !== 'foreign' || (isInside && !PLATFORM_WIDE.includes(position.type));
};

const ownStates = (call: Call): State[] => call.idPositions.map(({ in: where }) => (where === 'query' ? 'missing' : 'own'));

const has = (call: Call, parameter: string): boolean => call.parameters?.some(({ name }) => name === parameter) ?? false;

/**
 * The variants to try: own ids in all places; in each place in turn, an id in every other state; foreign ids in all
 * places; missing ids in all places. If the operation accepts `as_of`, some of these variants are also tried as of now.
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
 * The ids that the variant sends, with their places. An optional id in the query is sent only if it is the one that
 * differs.
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
 * Query parameters for a read as of now. A list is limited to one item, the newest. If items without access counted
 * against that limit, the page could be empty, which the test would notice.
 */
const asOfNow = (call: Call): [string, string][] => [
  ['as_of', new Date().toISOString()],
  ...(has(call, 'limit') ? [['limit', '1'] as [string, string]] : []),
];

const PICTURE = await pictureOf('png');

/**
 * The options of a request whose body is a form with a picture or an archive. Undefined if the operation has no such
 * body.
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

/** Sends the request as this principal, with the ids of the variant. `more` is added to the body. */
export const sendProbe = (dataset: Dataset, call: Call, variant: Variant, who: PrincipalName, more: object = {}): Promise<Answer> => {
  const sent = sentIds(call, variant).map(({ position, state }) => ({ ...position, id: idFor(dataset, position, state) }));
  const among = (where: IdPosition['in']) => Object.fromEntries(sent.filter((one) => one.in === where).map(({ name, id }) => [name, id]));
  const inPath = among('path');
  const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) => inPath[name]!);
  const asOf = variant.asOf ? asOfNow(call) : [];
  const query = new URLSearchParams([...requiredQuery(call), ...asOf, ...Object.entries(among('query'))]).toString();
  const form = formFor(call, more);
  const body = form ? undefined : bodyFor(dataset.document as Document, call, among('body'));
  // The field that is added to a list is that of an item.
  const sentBody = Array.isArray(body) ? [...body, ...(Object.keys(more).length > 0 ? [more] : [])] : { ...(body as object), ...more };
  return dataset.send(call.method, query ? `${path}?${query}` : path, {
    key: dataset.keys[who],
    ...form,
    ...(body === undefined ? {} : { body: sentBody }),
  });
};

/** The statuses that the response may have. */
export const expectedStatuses = (call: Call, variant: Variant, who: PrincipalName): readonly number[] => {
  const rule = ruleFor(call.method, call.path, call.description ?? '');
  return statusesFor(who, rule, targetOf(call, rule, variant));
};

const SUPER_ADMINS: readonly PrincipalName[] = ['super-admin', 'guest'];

/**
 * Whether a response without access must equal the response for a missing resource. It need not if the id of a tenant
 * differs, and the caller is a super-admin, who may know which tenants exist, or a member of that suspended tenant.
 */
export const isComparable = (who: PrincipalName, { differs, label }: Variant): boolean =>
  !(differs?.type === 'tenant' && (SUPER_ADMINS.includes(who) || (who === 'signed in' && label.endsWith('suspended'))));

/**
 * Whether the variant sends the id of the admin-only agent or of the private skill, and the principal may see it. If
 * so, the principal can use it like any other one.
 */
export const canSeeHidden = (who: PrincipalName, { label, differs }: Variant): boolean =>
  label.endsWith('hidden') &&
  ((differs?.type === 'agent' && !hasOnlyAgentRoles(who)) || (differs?.type === 'skill' && seesPrivateSkills(who)));

/** Whether the response contains a log position. Events of other tenants must not influence that position. */
export const showsPosition = (call: Call, { asOf, differs }: Variant): boolean =>
  differs === null && (asOf === true || call.operationId === 'exportAuditLogs');

/**
 * Describes what is wrong with the log position in a response; null if nothing is. It must be the position of one of
 * the tenant's own events. A list as of that position must not be empty if the current list has items.
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

/** The operations that look for agents in all tenants of the caller, and show only those. */
const OVER_TENANTS: readonly string[] = ['listAssistants'];

/**
 * Whether the foreign tenant of this variant is the principal's own tenant. The expectations of this test do not apply
 * to such a variant.
 */
export const isOwnTenant = (who: PrincipalName, call: Call, { states }: Variant): boolean =>
  OTHER_TENANT_PRINCIPALS.includes(who) &&
  call.idPositions.some(({ type }, index) => (type === 'tenant' || OVER_TENANTS.includes(call.operationId)) && states[index] === 'foreign');
