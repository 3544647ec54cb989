import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { counted } from '../../../domain/counted.ts';
import { type ExportedEvent, eventsOfExport } from '../../audit/read-export.ts';
import { type ExportVerification, exitCodeOf, verifyAuditExport } from '../../audit/verify-audit-export.mjs';
import type { Config } from '../../config.ts';
import { syncDirectory } from '../../durable-files.ts';
import { openLog } from '../../eventstore/client.ts';
import { serveStore } from '../../eventstore/embedded/rpc/serve-store.ts';
import { wrongDirectory } from '../../eventstore/embedded/store-directory.ts';
import { isConflict, type Log } from '../../eventstore/event-log.ts';
import { printLine } from '../../logging/print-line.ts';
import { lockDataDirectory } from '../../processes/data-directory.ts';
import { markForInspection } from '../../processes/inspection.ts';
import { openVault } from '../../vault/vault.ts';
import { addInspector } from '../add-inspector.ts';
import { verificationLines } from './verify-export.ts';

const ignore = (): void => {};

/** An export has only a tenant's part of the platform's streams: where revisions are missing, events get the next free one. */
const appendExported = async (log: Log, { stream, revision, event }: ExportedEvent): Promise<void> => {
  try {
    await log.append(stream, revision === 0 ? 'none' : revision - 1, [event]);
  } catch (error) {
    if (!isConflict(error)) throw error;
    const last = await log.last(stream);
    await log.append(stream, last ? last.revision : 'none', [event]);
  }
};

type Import = { readonly file: string; readonly staged: string; readonly masterKeyFile: string; readonly tenant: string };

/** The key reads the imported tenant; it is null if the tenant was closed. */
const fillStore = async ({ file, staged, masterKeyFile, tenant }: Import): Promise<{ count: number; key: string | null }> => {
  const server = await serveStore({ dir: staged, port: 0, open: true, print: ignore });
  const log = openLog(`esdb://127.0.0.1:${server.port}?tls=false`);
  try {
    const vault = await openVault({ log, masterKeyFile });
    let count = 0;
    for await (const exported of eventsOfExport(file)) {
      await appendExported(log, exported);
      count += 1;
    }
    // An export has no keys of encrypted contents: these are shown as if they were erased.
    await vault.destroyDataKeys(tenant);
    return { count, key: await addInspector(log, masterKeyFile, tenant) };
  } finally {
    await log.close();
    await server.close();
  }
};

const importInto = async ({ annalsData, masterKeyFile }: Config, file: string, { tenant_id }: ExportVerification): Promise<number> => {
  const [store, staged] = [join(annalsData, 'store'), join(annalsData, 'store.importing')];
  if ([store, join(annalsData, 'postgres')].some((path) => existsSync(path)))
    throw wrongDirectory(`${annalsData} contains a platform already: set ANNALS_DATA to a new directory`);
  rmSync(staged, { recursive: true, force: true });
  // Mark the directory before it is filled, so that no reactor runs on it, even after a crash.
  markForInspection(annalsData, { tenant_id, imported_at: new Date().toISOString() });
  const { count, key } = await fillStore({ file, staged, masterKeyFile, tenant: tenant_id! });
  renameSync(staged, store);
  syncDirectory(annalsData);
  printLine(`imported ${counted(count, 'event')} of the tenant ${tenant_id} for inspection: start the platform with annals start`);
  printLine(
    key === null
      ? 'the tenant was closed, so it cannot be read over HTTP: annals replay prints its events'
      : `API key of an auditor, which may only read (shown once): ${key}`,
  );
  return 0;
};

/** `key` and `anchors` are those of `verifyAuditExport`. */
export type ImportOptions = { readonly file: string; readonly key: string | undefined; readonly anchors: string | undefined };

/**
 * Verifies an export, and fills a data directory with it, on which no reactor runs. Returns the exit code: 1 if the export does not verify,
 * 3 if it has no entries.
 * @throws Error with a one-line message for the operator if the directory already contains a platform
 */
export const importForInspection = async (config: Config, { file, key, anchors }: ImportOptions): Promise<number> => {
  const configured = [config.eventstoreUrl && 'EVENTSTORE_URL', config.databaseUrl && 'DATABASE_URL', config.natsUrl && 'NATS_URL'];
  const external = configured.find(Boolean);
  if (external)
    throw wrongDirectory(`an export is imported into a separate platform: unset ${external}, and set ANNALS_DATA to a new directory`);
  const missing = [file, anchors].find((path) => path !== undefined && !existsSync(path));
  if (missing !== undefined) throw wrongDirectory(`there is no file ${missing}`);
  const found = await verifyAuditExport(file, { key, anchors });
  for (const line of verificationLines(found, file)) printLine(line);
  if (!found.ok) return exitCodeOf(found);
  if (found.is_selection)
    throw wrongDirectory(`${file} has only selected entries, from which nothing can be read: import an export of the whole audit log`);
  const lock = lockDataDirectory(config.annalsData);
  try {
    return await importInto(config, file, found);
  } finally {
    lock.release();
  }
};
