import type { Page, PageQuery, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { RunnerCredentialRead, runnerCredentials, table } from './runner-credential.ts';

export const RUNNER_CREDENTIAL_SORTS = sortFields(table, RunnerCredentialRead);

/** The broker credentials of one agent, those that have expired among them. */
export const runnerCredentialPage = (
  reads: Reads,
  { tenant_id, agent_id }: { tenant_id: string; agent_id: string },
  window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>,
): Promise<Page> =>
  reads.page({
    from: { projection: runnerCredentials.name, table },
    where: [
      { column: 'tenant_id', op: '=', value: tenant_id },
      { column: 'agent_id', op: '=', value: agent_id },
    ],
    ...window,
  });
