import { finishImport } from '../../commands/memory/import-memory.reactor.ts';
import type { Unpack } from '../../commands/skills/archive.ts';
import { runningImports } from '../../projections/memory/memory-import.queries.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openOnce } from '../open-once.ts';
import { startTimedReactor, type TimedReactorParts } from '../reactors/timed-reactor.ts';

const INTERVAL_MS = 1_000;
const LOCK = 'reactor memory imports';

type Services = { readonly blobs: BlobStore; readonly unpack: Unpack };

/** `services` is called when the first import is requested. */
export type MemoryImporterParts = TimedReactorParts & { readonly log: Log; readonly services: () => Promise<Services> };

/** `now` returns Unix milliseconds. */
export const importContexts = (log: Log, blobs: BlobStore, now: () => number) => {
  const ctx = reactorContext(log, { now });
  return (tenant: string) => ({ ...ctx.inTenant(tenant), blobs: blobs.of(tenant) });
};

/** Completes imports into memories of agents, one after another. Only one process does this at a time. */
export const startMemoryImporter = ({ log, services, ...parts }: MemoryImporterParts) => {
  const { logger, now = Date.now } = parts;
  const openServices = openOnce(services);
  return startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'files cannot be imported into memories now; trying again',
      run: async (reads, at) => {
        const due = await runningImports(reads, at);
        if (due.length === 0) return false;
        const { blobs, unpack } = await openServices();
        const contextOf = importContexts(log, blobs, now);
        for (const { tenant_id, id } of due)
          await finishImport(contextOf(tenant_id), { id, unpack }).catch((error: Error) =>
            logger.warn({ import: id, reason: error.message }, 'a file cannot be imported into a memory now; trying again'),
          );
        return false;
      },
    },
    parts,
  );
};
