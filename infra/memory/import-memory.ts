import { finishImport } from '../../commands/memory/import-memory.reactor.ts';
import { runningImports } from '../../projections/memory/memory-import.queries.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { type TimerServices, timed } from '../reactors/timed.ts';

type Services = TimerServices & { readonly blobs: () => Promise<BlobStore> };

/** One after another. The modules are loaded only when the first one is requested. */
export const memoryImports = timed({
  lock: 'reactor memory imports',
  everyMs: 1_000,
  failure: 'files cannot be imported into memories now; trying again',
  eventTime: 'append',
  due: runningImports,
  open: async ({ blobs }: Services) => {
    const { unpackZip } = await import('../archives/unpack-zip.ts');
    return { blobs: await blobs(), unpack: unpackZip };
  },
  handle: (ctx, { tenant_id, id }, { blobs, unpack }) =>
    finishImport({ ...ctx.inTenant(tenant_id), blobs: blobs.of(tenant_id) }, { id, unpack }),
  failed: (logger, { id }, reason) => logger.warn({ import: id, reason }, 'a file cannot be imported into a memory now; trying again'),
});
