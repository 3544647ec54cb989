import { areaCases } from '../fixtures/area-cases.ts';

export type Rule = {
  readonly all: readonly string[];
  readonly runner: boolean;
  readonly runnerOnly: boolean;
  readonly inBody: boolean;
  readonly onDelivery: boolean;
  readonly onSession: boolean;
  readonly onReservation: boolean;
  readonly onOwnSignIn: boolean;
  readonly inAnyTenant: boolean;
  readonly ofUser: boolean;
  readonly notRunners: boolean;
  readonly notGuests: boolean;
  readonly namesAgent: boolean;
};

const ruleOf = (text: string): Rule => ({
  all: text
    .replace(
      / \+ runner only| \+ runner| in body| on delivery| on session| on reservation| on own sign-in| in a tenant of the caller| of a user| but runners| but guests| naming an agent/g,
      '',
    )
    .split(' & '),
  runner: text.includes('+ runner'),
  runnerOnly: text.includes('+ runner only'),
  inBody: text.includes('in body'),
  onDelivery: text.includes('on delivery'),
  onSession: text.includes('on session'),
  onReservation: text.includes('on reservation'),
  onOwnSignIn: text.includes('on own sign-in'),
  inAnyTenant: text.includes('in a tenant of the caller'),
  ofUser: text.includes('of a user'),
  notRunners: text.includes('but runners'),
  notGuests: text.includes('but guests'),
  namesAgent: text.includes('naming an agent'),
});

/**
 * The access rules of all operations, as in spec/operations.md. Each line has the permission that an operation requires (or `any` for any valid
 * credential, or `platform` for super-admins), followed by these words if they apply: - `+ runner`: the operation also
 * accepts the runner key of the agent in the path. - `+ runner only`: it accepts only that key. Other callers are
 * refused as if they lacked the permission. - `in body`: the permission is required on the agent whose id is in the
 * body. - `on delivery`: it requires tenant:integrations:read, or agent:chat:read on the agent of the delivery. - `on
 * session`: the permission is required on the agent of the session or delivery. - `on reservation`: only the runner has access. For all other callers, the
 * reservation does not exist. - `on own sign-in`: only the user who signed in has access, in the dataset with the API
 * key of the sign-in. Runner keys are refused; for all other callers, the sign-in does not exist. - `in a tenant of the
 * caller`: the path contains no tenant. The agent may be in any tenant of the credential. - `of a user`: runner keys,
 * and API keys with a lower role than that of their owner, are refused. - `but runners`: runner keys are refused. -
 * `but guests`: super-admins who are not members are refused, even if the tenant is open to them. - `naming an agent`:
 * the body names an agent. Callers who may see no agent get the same 422 as for a missing one.
 */
const rules = new Map(
  areaCases
    .flatMap(({ access = '' }) => access.split('\n').filter((line) => line !== ''))
    .map((line): [string, Rule] => {
      const [, method, path, text] = /^(\w+) +(\S+) +(.+)$/.exec(line)!;
      return [`${method} ${path}`, ruleOf(text!)];
    }),
);

/**
 * Reads the access rule of an operation from its description in the OpenAPI document. @returns null if the description
 * contains more than permissions; the rule is then in the cases of its area
 */
const ruleFromDescription = (description: string): Rule | null => {
  if (description === 'Requires any valid credential.') return ruleOf('any');
  if (!/^Requires the permissions? (`[\w:]+`( and )?)+(, or the agent's runner key)?\.$/.test(description)) return null;
  const runner = description.includes("or the agent's runner key") ? ' + runner' : '';
  return ruleOf(`${[...description.matchAll(/`([\w:]+)`/g)].map((found) => found[1]).join(' & ')}${runner}`);
};

/**
 * Returns the access rule of an operation. @throws Error if neither the table nor the description of the operation has
 * it
 */
export const ruleFor = (method: string, path: string, description: string): Rule => {
  const known = rules.get(`${method.toUpperCase()} ${path}`);
  // Operations below /admin are for super-admins, unless the table has another rule.
  const found = known ?? (/^\/(api\/v1\/)?admin\//.test(path) ? ruleOf('platform') : ruleFromDescription(description));
  if (!found) throw new Error(`no rule for ${method} ${path}: add it to the access rules in test/<area>/*.cases.ts`);
  return found;
};
