import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One fence taken down: in `file`, `from` (which must be there) becomes `to`. */
type Edit = readonly [file: string, from: string, to: string];
/** What stands behind another fence is taken down with it: alone it changes no answer. */
type Mutant = { readonly name: string; readonly edits: readonly Edit[] };

const TENANT_IS = "{ column: 'tenant_id', op: '=', value: tenant_id },";
const permit = (name: string, from: string, to: string): Mutant => ({ name: `permit: ${name}`, edits: [['api/permit.ts', from, to]] });
const one = (name: string, ...edit: Edit): Mutant => ({ name, edits: [edit] });

const HOOK_OF = ' || state.tenant_id !== ctx.tenant) throw absent();';

const MUTANTS: readonly Mutant[] = [
  permit('a tenant key works in every tenant', 'principal.bound_to !== null && principal.bound_to !== tenant_id', 'false'),
  {
    name: 'permit: a tenant key of a super-admin is a platform key',
    edits: [
      ['api/permit.ts', ' && principal.bound_to === null) return undefined', ') return undefined'],
      ['api/auth.ts', 'super_admin: false', 'super_admin: user.is_super_admin'],
    ],
  },
  permit('everybody is a super-admin on the platform', 'principal.super_admin && principal.bound_to', 'principal.bound_to'),
  permit('everybody may be a guest', 'if (!principal.super_admin) throw notFound();', ''),
  permit('no break-glass is needed', 'if (!open) throw', 'if (false) throw'),
  permit('a guest may everything', 'if (!GUEST.includes(permission)) throw forbidden(permission);', ''),
  permit('a runner works in every tenant', 'principal.tenant_id !== tenant_id || principal.agent_id', 'principal.agent_id'),
  permit('a runner works as every agent', ' || principal.agent_id !== agent_id) return false', ') return false'),
  permit('a runner learns which tenants there are', "principal.kind === 'runner' && principal.tenant_id === tenant_id ?", 'true ?'),
  permit('tenant roles give everything', 'if (!tenantRoleAllows(role, permission)) throw forbidden(permission);', ''),
  permit('whoever sees an agent may everything with it', '|| !agentAllows(tenant, principal.user_id, agent, permission)) throw', ') throw'),
  permit(
    'an agent that is not seen is refused, not hidden',
    " || !agentAllows(tenant, principal.user_id, agent, 'agent:read')) throw notFound()",
    ') throw notFound()',
  ),
  one(
    'a suspended tenant goes on',
    'api/auth.ts',
    "if (tenant.is_suspended) throw new Refusal('tenant_suspended', 'the tenant is suspended');",
    '',
  ),
  one(
    "keys: the tenant list shows every tenant's",
    'projections/apikey.queries.ts',
    'Object.entries(owner).map',
    "Object.entries(owner).filter(([column]) => column !== 'tenant_id').map",
  ),
  one(
    "keys: the list of runner keys shows every agent's",
    'projections/apikey.queries.ts',
    'Object.entries(owner).map',
    "Object.entries(owner).filter(([column]) => column === 'kind').map",
  ),
  one(
    'keys: a foreign tenant key can be revoked',
    'commands/apikey.ts',
    "key.kind === 'tenant' && key.tenant_id === ctx.tenant",
    "key.kind === 'tenant'",
  ),
  one(
    'keys: a foreign runner key can be revoked',
    'commands/apikey.ts',
    ' && key.tenant_id === ctx.tenant && key.agent_id === agent_id',
    '',
  ),
  one('keys: a runner key is revoked as a tenant key', 'commands/apikey.ts', "key.kind === 'tenant' && key.tenant_id", 'key.tenant_id'),
  one("agents: the list shows every tenant's", 'projections/agent.queries.ts', `      ${TENANT_IS}\n      ...visible`, '      ...visible'),
  one(
    "agents: the list as of then shows every tenant's",
    'projections/agent.queries.ts',
    `    ${TENANT_IS}\n    { column: 'born'`,
    "    { column: 'born'",
  ),
  one(
    'agents: one is read by its id alone',
    'projections/agent.queries.ts',
    'reads.one(from, { tenant_id, id }, doc)',
    'reads.one(from, { id }, doc)',
  ),
  one('agents: everybody sees all', 'projections/agent.queries.ts', '  sight.all\n    ? []', '  true\n    ? []'),
  one(
    "audit: the log shows every tenant's",
    'projections/audit.queries.ts',
    "where: [{ column: 'tenant_id', op: '=', value: tenant_id }, ...conditions(filter)]",
    'where: conditions(filter)',
  ),
  one(
    'deliveries: one is read by its id alone',
    'projections/delivery.queries.ts',
    'reads.one(from, { tenant_id, id })',
    'reads.one(from, { id })',
  ),
  one('deliveries: the list of a foreign hook is empty, not absent', 'api/delivery.ts', HOOK_OF, ') throw absent();'),
  {
    name: 'deliveries: the list of a foreign hook is shown',
    edits: [
      ['api/delivery.ts', HOOK_OF, ') throw absent();'],
      ['projections/delivery.queries.ts', "      equal('tenant_id', hook.tenant_id),\n", ''],
    ],
  },
  one(
    'deliveries: whoever is a member reads them',
    'api/delivery.ts',
    "if (!(await ctx.may('tenant:integrations:read')) && !(await ctx.may('agent:chat:read', agent_id))) throw absent();",
    '',
  ),
  {
    name: 'deliveries: a runner fetches the bodies of another',
    edits: [
      ['api/delivery.ts', " || (principal.kind === 'runner' && principal.agent_id !== kept.facts.agent_id)", ''],
      ['api/permit.ts', ' || principal.agent_id !== agent_id) return false', ') return false'],
    ],
  },
  one(
    "integrations: the list shows every tenant's",
    'projections/integration.queries.ts',
    'Object.entries({ tenant_id, ...filter })',
    'Object.entries({ ...filter })',
  ),
  one('integrations: a foreign one can be changed', 'domain/integration.ts', ' || integration.tenant_id !== tenant_id)', ')'),
  {
    name: 'integrations: one is read by its id alone',
    edits: [['projections/integration.queries.ts', 'found && shown?.tenant_id === tenant_id ?', 'found && shown ?']],
  },
  {
    name: "broker credentials: the list shows every agent's",
    edits: [
      ['projections/runner-credential.queries.ts', `      ${TENANT_IS}\n`, ''],
      ['projections/runner-credential.queries.ts', "      { column: 'agent_id', op: '=', value: agent_id },\n", ''],
    ],
  },
  one(
    'roles: whoever is no member is given one',
    'commands/access.ts',
    "if (!members[user_id]) throw new Refusal('not_found', 'there is no such member');",
    '',
  ),
  one(
    'grants: whoever is no member is given one',
    'commands/access.ts',
    "if (!members[user_id]) throw invalid('/user_id', 'is not a member of this tenant', 'not_a_member');",
    '',
  ),
  one('grants: by whoever reads the tenant', 'api/access.ts', "await ctx.require('agent:roles:write', sent.agent_id);", ''),
  one('ownership goes to whoever is no member', 'domain/access.ts', 'if (!members[new_owner_id]) throw', 'if (false) throw'),
  one('hooks are given agents that are not there', 'commands/integration.ts', "if (state.status !== 'live') throw", 'if (false) throw'),
  one('a guest may change what needs a read right', 'api/mount.ts', "if (as === 'guest' && !isRead(row)) throw", 'if (false) throw'),
  one('the visits of guests are told to nobody', 'api/mount.ts', "if (as === 'guest') await", 'if (false) await'),
  one('a key outlives its owner', 'api/auth.ts', 'if (!User.isActive(user)) throw', 'if (false) throw'),
  one('a key outlives a membership', 'api/auth.ts', 'if (!tenant.members[user.id]) throw', 'if (false) throw'),
  one('a revoked key goes on', 'api/auth.ts', " || key.status === 'revoked') throw", ') throw'),
  one('an expired key goes on', 'api/auth.ts', 'if (key.expires_at !== null && Date.parse(key.expires_at) <= now())', 'if (false)'),
];

const root = join(import.meta.dirname, '../..');

const copied = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-mutant-'));
  for (const part of ['api', 'commands', 'domain', 'infra', 'projections', 'test', 'package.json'])
    cpSync(join(root, part), join(dir, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  return dir;
};

const apply = (dir: string, [file, from, to]: Edit): void => {
  const text = readFileSync(join(dir, file), 'utf8');
  if (!text.includes(from)) throw new Error(`${file} has no more: ${from}`);
  writeFileSync(join(dir, file), text.replaceAll(from, to));
};

/** Whether the generator goes red. @throws Error where the copy does not run at all */
const isRed = (dir: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, TWO_TENANTS: 'first' };
    execFile(process.execPath, ['test/two-tenants.test.ts'], { cwd: dir, env, maxBuffer: 1 << 26 }, (error, out, err) =>
      out.includes('Total:') ? resolve(error !== null) : reject(new Error(`it did not run: ${err}`)),
    );
  });

/** Takes down one fence in a copy of the tree. @returns whether the generator saw it */
const killed = async ({ edits }: Mutant): Promise<boolean> => {
  const dir = copied();
  try {
    for (const edit of edits) apply(dir, edit);
    return await isRed(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

/** `node test/two-tenants/mutants.ts [part of a name]`: takes every fence down, one at a time; ends with 1 where one was not missed. */
const main = async (part = ''): Promise<void> => {
  const chosen = MUTANTS.filter(({ name }) => name.includes(part));
  const alive: string[] = [];
  for (const mutant of chosen) {
    const dead = await killed(mutant).catch((error: Error) => {
      console.log(`${mutant.name}: ${error.message.slice(0, 300)}`);
      return false;
    });
    if (!dead) alive.push(mutant.name);
    console.log(`${dead ? 'killed' : 'ALIVE '} ${mutant.name}`);
  }
  console.log(`${chosen.length - alive.length} of ${chosen.length} killed`);
  process.exitCode = alive.length > 0 ? 1 : 0;
};

await main(process.argv[2]);
