import { ruleFor } from './access-rules.ts';
import { credentialKindOf, hasOnlyAgentRoles, PRINCIPALS, type PrincipalName } from './expected-access.ts';
import type { Call } from './id-positions.ts';
import { canSeeHidden, expectedStatuses, isInTenant, isOwnTenant, type Variant, variantsOf } from './probe.ts';

export const isAllowed = (call: Call, variant: Variant, who: PrincipalName): boolean => expectedStatuses(call, variant, who).includes(200);

const groupOf = ({ differs, label }: Variant): string =>
  label.startsWith('everything') ? 'everything' : differs ? `${differs.in} ${differs.name}` : 'own';

/**
 * What one caller sends to one operation: the request with the caller's own ids, or with each wrong id in one place.
 * Only together can the responses show whether a wrong id gets the same response as one that does not exist.
 */
export type Case = {
  readonly call: Call;
  readonly who: PrincipalName;
  readonly group: string;
  readonly variants: readonly Variant[];
  /** Whether the caller may make the request with the caller's own ids. */
  readonly mayUse: boolean;
};

const isRefused = ({ call, who }: Pick<Case, 'call' | 'who'>, variant: Variant): boolean =>
  !((call.method !== 'GET' && isAllowed(call, variant, who)) || isOwnTenant(who, call, variant) || canSeeHidden(who, variant));

export const casesOf = (call: Call): Case[] => {
  const groups = [...Map.groupBy(variantsOf(call), groupOf)];
  const own = groups[0]![1][0]!;
  return PRINCIPALS.flatMap((who) =>
    groups.flatMap(([group, all]) => {
      const variants = all.filter((variant) => isRefused({ call, who }, variant));
      return variants.length > 0 ? [{ call, who, group, variants, mayUse: isAllowed(call, own, who) }] : [];
    }),
  );
};

export const nameOfCase = ({ call, who, group }: Case): string => `${call.method} ${call.path} as ${who}, ${group}`;

/** Whether the response depends on what the caller may see, and not on an id in the path. */
const showsWhatCallerSees = ({ call, who, group, mayUse }: Case): boolean =>
  group === 'own' &&
  mayUse &&
  (!isInTenant(call) || (hasOnlyAgentRoles(who) && call.idPositions.every(({ type, in: where }) => where !== 'path' || type === 'tenant')));

/**
 * Returns what a share must have at least one case of: each operation with the statuses that the responses must have,
 * and the place of the ids unless each id gets the same status. Where the response depends on the caller, this is each
 * caller with each permission, or with each operation.
 */
export const kindOf = (one: Case): string => {
  const { call, who, group, variants, mayUse } = one;
  const statuses = variants.map((variant) => String(expectedStatuses(call, variant, who)));
  const { all, inAnyTenant } = ruleFor(call.method, call.path, call.description ?? '');
  const operation = `${call.method} ${call.path}`;
  if (inAnyTenant || showsWhatCallerSees(one)) return [operation, group, who].join(' ');
  if (group === 'own' && isInTenant(call)) return [who, ...all, call.method === 'GET', statuses[0]].join(' ');
  return [operation, mayUse, ...(new Set(statuses).size > 1 ? [group, ...statuses] : statuses.slice(0, 1))].join(' ');
};

/**
 * Returns the same text for cases that repeat each other: callers with the same kind of credential send the same wrong ids
 * to an operation, and must get the same statuses. The cases with own ids are all different: they show who may do what.
 */
export const repeatedKindOf = (one: Case): string => {
  const { call, who, group, variants, mayUse } = one;
  const { inAnyTenant } = ruleFor(call.method, call.path, call.description ?? '');
  if (group === 'own' || inAnyTenant) return nameOfCase(one);
  const statuses = variants.map((variant) => String(expectedStatuses(call, variant, who)));
  return [call.method, call.path, group, credentialKindOf(who), mayUse, ...statuses].join(' ');
};
