import { type Mutant, mutantSeenBy } from './guard.ts';

/**
 * Changed copies of the code (mutants). Each copy lacks one check (guard) on the credentials of the tenant that agents
 * have. The name of a mutant says what is possible without the check.
 */
export const CREDENTIAL_GUARDS: readonly Mutant[] = [
  mutantSeenBy(
    'credentials/renew-tokens.api.test.ts',
    'credentials: the account of an agent can be given to another agent',
    'commands/credentials/agent-credentials.ts',
    'if (identity.state.agent_id === null) return identity;',
    'if (identity.id) return identity;',
  ),
  mutantSeenBy(
    'credentials/agent-credentials.api.test.ts',
    'credentials: an agent gets back what was unlinked and linked again',
    'domain/credentials/linked-identity.ts',
    "status === 'linked' && access_revision === revision",
    "status === 'linked' && access_revision >= revision",
  ),
  mutantSeenBy(
    'credentials/agent-credentials.api.test.ts',
    'credentials: an agent keeps what was unlinked',
    'domain/credentials/linked-identity.ts',
    "status === 'linked' && access_revision === revision",
    'status && access_revision === revision',
  ),
  mutantSeenBy(
    'credentials/agent-credentials.api.test.ts',
    'credentials: an agent gets another user or database than was given to it',
    'domain/credentials/linked-identity.ts',
    'hasSameAccess(identity, next) ? next : { ...next, access_revision: event.revision }',
    'next',
  ),
  mutantSeenBy(
    'credentials/agent-credentials.api.test.ts',
    'credentials: an inactive agent gets those of the tenant',
    'commands/credentials/runtime-credentials.ts',
    'agent.is_active ? loadGivenIdentities(ctx, agent) : []',
    'loadGivenIdentities(ctx, agent)',
  ),
  mutantSeenBy(
    'credentials/renew-tokens.api.test.ts',
    'credentials: expired tokens are handed out',
    'commands/credentials/runtime-credentials.ts',
    '(expires_at === null || expires_at > at)',
    'at !== null',
  ),
  mutantSeenBy(
    'agents/agent-credentials.decision.test.ts',
    'credentials: a deleted and restored agent has those of before',
    'domain/agents/agent.ts',
    "status: 'deleted', ...noCredentials",
    "status: 'deleted'",
  ),
];
