import type { RunnerCredentialEvent } from '../../domain/runners/runner-credential.ts';
import type { AuditOf } from '../audit-record.ts';

export const runnerCredentialAudit = {
  RunnerCredentialIssued: { summary: 'issued a broker credential to the runner of the agent {agent}', activity: 'create', severity: 'low' },
  RunnerCredentialRevoked: { summary: 'revoked a broker credential of a runner', activity: 'delete', severity: 'low' },
} satisfies AuditOf<RunnerCredentialEvent>;
