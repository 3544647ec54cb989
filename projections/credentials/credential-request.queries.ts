import type { z } from 'zod';
import { statusAt } from '../../domain/credentials/credential-request.ts';
import { defineList } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { CredentialRequestRead, table } from './credential-request.ts';

export const CREDENTIAL_REQUEST_SORTS = sortFields(table, CredentialRequestRead);

type RequestsOf = { readonly tenant_id: string; readonly agent_id: string };

const requestList = defineList({ table }, (db, { tenant_id, agent_id }: RequestsOf) =>
  db
    .selectFrom('credential_requests.requests as request')
    .where('request.tenant_id', '=', tenant_id)
    .where('request.agent_id', '=', agent_id),
);

/** Returns a page of the credential requests of an agent, with their status at the time `at` (RFC 3339 UTC). */
export const credentialRequestPage = async (reads: Reads, requests: RequestsOf, at: string, window: PageWindow): Promise<Page> => {
  const { body, next } = await reads.page(requestList, requests, window);
  const items = JSON.parse(body) as z.output<typeof CredentialRequestRead>[];
  return { body: JSON.stringify(items.map((item) => ({ ...item, status: statusAt(item.status, item.expires_at, at) }))), next };
};
