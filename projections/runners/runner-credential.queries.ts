import { defineList } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { RunnerCredentialRead, table } from './runner-credential.ts';

export const RUNNER_CREDENTIAL_SORTS = sortFields(table, RunnerCredentialRead);

type AgentRef = { readonly tenant_id: string; readonly agent_id: string };

const credentialList = defineList({ table }, (db, { tenant_id, agent_id }: AgentRef) =>
  db
    .selectFrom('runner_credentials.runner_credentials as credential')
    .where('credential.tenant_id', '=', tenant_id)
    .where('credential.agent_id', '=', agent_id),
);

/** Returns a page of the NATS credentials of one agent, including expired and revoked ones. */
export const runnerCredentialPage = (reads: Reads, agent: AgentRef, window: PageWindow): Promise<Page> =>
  reads.page(credentialList, agent, window);
