import { randomUUID } from 'node:crypto';
import { finishImport, IMPORTER, type ImporterPorts } from '../../commands/memory/import-memory.reactor.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import { runningImports } from '../../projections/memory/memory-import.queries.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openOnce } from '../open-once.ts';
import { startTimedReactor, type TimedReactorParts } from './timed-reactor.ts';

const INTERVAL_MS = 1_000;
const LOCK = 'reactor memory imports';

type Services = { readonly blobs: BlobStore; readonly unpack: ImporterPorts['unpack'] };

/** The parts that are needed to import files. `services` is called when the first import is requested. */
export type MemoryImporterParts = TimedReactorParts & { readonly log: Log; readonly services: () => Promise<Services> };

/** Creates the ports with which the reactor works. `now` returns the present time in milliseconds. */
export const importerPorts = (log: Log, { blobs, unpack }: Services, now: () => number): ImporterPorts => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  return {
    unpack,
    blobsOf: blobs.of,
    load: async ({ tenant_id, id }) => (await cache.refresh(MemoryImport, tenant_id, id)).state,
    transact: async ({ tenant_id, id }, decide) => {
      const at = new Date(now()).toISOString();
      const meta = { tenant: tenant_id, actor: IMPORTER, at, v: 1 };
      const { state } = await transact({ aggregate: MemoryImport, tenant: tenant_id, id, decide, meta, seed: randomUUID() });
      return state;
    },
  };
};

/**
 * Starts the reactor that completes the imports into memories of agents, one after another. Only one process does this
 * at a time.
 */
export const startMemoryImporter = ({ log, services, ...parts }: MemoryImporterParts) => {
  const { logger, now = Date.now } = parts;
  const openPorts = openOnce(async () => importerPorts(log, await services(), now));
  return startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'files cannot be imported into memories now; trying again',
      run: async (reads, at) => {
        const due = await runningImports(reads, at);
        if (due.length === 0) return false;
        const ports = await openPorts();
        for (const ref of due)
          await finishImport(ports, ref).catch((error: Error) =>
            logger.warn({ import: ref.id, reason: error.message }, 'a file cannot be imported into a memory now; trying again'),
          );
        return false;
      },
    },
    parts,
  );
};
