import { finishImport } from '../../commands/memory/import-memory.reactor.ts';
import { reactorContext } from '../../infra/aggregates/reactor-context.ts';
import { unpackZip } from '../../infra/archives/unpack-zip.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import type { TestPlatform } from '../fixtures/users.ts';

/**
 * Imports a text into the memory of an agent. Also does the work of the worker that completes the import. @returns the
 * id of the import
 */
export const importMemory = async (p: TestPlatform, tenant_id: string, agent: string, { key, text }: { key: string; text: string }) => {
  const answer = await p.send('POST', `/tenant/${tenant_id}/agents/${agent}/memory/import`, {
    key,
    raw: formBody({ name: 'file', filename: 'a.txt', content: text }),
    headers: { 'content-type': FORM_TYPE },
  });
  if (answer.status !== 202) throw new Error(`the import of the dataset was refused: ${answer.text}`);
  const { id } = answer.body as { id: string };
  const ctx = { ...reactorContext(p.log).inTenant(tenant_id), blobs: p.blobs.of(tenant_id) };
  await finishImport(ctx, { id, unpack: unpackZip });
  return id;
};

/** Adds an entry to what an agent remembers. @returns its id */
export const rememberText = async (p: TestPlatform, tenant_id: string, agent: string, { key, text }: { key: string; text: string }) => {
  const answer = await p.send('POST', `/tenant/${tenant_id}/agents/${agent}/memory`, { key, body: { text } });
  if (answer.status !== 201) throw new Error(`the entry of the dataset was refused: ${answer.text}`);
  return (answer.body as { id: string }).id;
};
