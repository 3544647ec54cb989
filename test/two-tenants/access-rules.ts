import { ACCESS_TABLE } from './access-table.ts';

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

const rules = new Map(
  ACCESS_TABLE.trim()
    .split('\n')
    .map((line): [string, Rule] => {
      const [, method, path, text] = /^(\w+) +(\S+) +(.+)$/.exec(line)!;
      return [`${method} ${path}`, ruleOf(text!)];
    }),
);

/**
 * Reads the access rule of an operation from its description in the OpenAPI document. @returns null if the description
 * contains more than permissions; the rule is then in the table in access-table.ts
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
  if (!found) throw new Error(`no rule for ${method} ${path}: add it to test/two-tenants/access-table.ts`);
  return found;
};
