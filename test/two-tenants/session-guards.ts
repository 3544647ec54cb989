import { type Mutant, mutant, mutantSeenBy } from './guard.ts';

const ACCESS = 'commands/sessions/session-access.ts';

/**
 * Changed copies of the code (mutants). Each copy lacks one check (guard) of sessions and their files. The name of a
 * mutant says what is possible without the check.
 */
export const SESSION_GUARDS: readonly Mutant[] = [
  mutant('sessions: the runner of another agent may write', ACCESS, ' && principal.agent_id === state.agent_id', ''),
  mutantSeenBy(
    'sessions/person-session.api.test.ts',
    'sessions: people write in those of the runner',
    ACCESS,
    "(others === 'persons' && session.created_by_id !== null)",
    "others === 'persons'",
  ),
  mutant('sessions: who started a session needs no permission', ACCESS, "return ctx.require('agent:assign', session.agent_id);", 'return;'),
  mutant('sessions: every member reads them', ACCESS, "  await ctx.require('agent:chat:read', state.agent_id);\n", ''),
  mutant('approvals: every member decides', ACCESS, "  await ctx.require('agent:assign', session.state.agent_id);\n", ''),
  mutant(
    'approvals: every member lists them',
    'api/sessions/approvals.ts',
    'agent_ids: await agentsWithReadableApprovals(ctx)',
    'agent_ids: undefined',
  ),
  mutant('files: every member reads them', 'api/files/readable-file.ts', 'await ctx.may(file.permission, file.agent_id)', 'true'),
  mutantSeenBy(
    'runners/own-agent.api.test.ts',
    'files: a runner reads those of other agents of its tenant',
    'api/files/readable-file.ts',
    'sha256: digest, agent_id };',
    'sha256: digest };',
  ),
  mutantSeenBy(
    'runners/own-agent.api.test.ts',
    'sessions: the runner of a deleted agent reads them',
    'commands/access/authorize.ts',
    "if ((await cache.loadCached(Agent, tenant_id, principal.agent_id)).state.status !== 'live') throw notFound();",
    '',
  ),
  mutant(
    'the runner of a suspended tenant is accepted',
    'infra/platform/request-authentication.ts',
    'if (!inSuspendedTenant) assertNotSuspended(principal);',
    '',
  ),
];
