import { defineCommand } from 'citty';
import { finish } from '../processes/exit.ts';
import { rejectUnknownArguments, usageError } from './arguments.ts';
import { readConfig } from './command-runs.ts';

export const exportCommand = defineCommand({
  meta: { name: 'export', description: 'Write all audited events of a tenant, with their proofs, to a file' },
  args: {
    to: { type: 'string', description: 'New file to write to', required: true },
    tenant: { type: 'string', description: 'Id of the tenant (default: the tenant of ANNALS_KEY)' },
    wait: { type: 'boolean', description: 'Wait until a signed head covers the newest event: up to five minutes' },
  },
  setup: rejectUnknownArguments,
  run: async ({ args: { tenant, to, wait } }) => {
    const { annalsUrl, annalsKey } = await readConfig('annalsUrl', 'annalsKey');
    const { exportTenant } = await import('./export-tenant.ts');
    await finish(await exportTenant({ tenant, to, wait: wait === true, url: annalsUrl!, key: annalsKey! }));
  },
});

export const importCommand = defineCommand({
  meta: { name: 'import', description: 'Read an export into an empty platform, for inspection' },
  args: {
    file: { type: 'positional', description: 'File of annals export', required: true },
    inspect: { type: 'boolean', description: 'Only for inspection: nothing in the platform acts. There is no other way to import' },
    key: { type: 'string', description: "Id of a key that is known to be that of the export's platform" },
    anchors: { type: 'string', description: 'File with the heads that AUDIT_ANCHOR_URL has received, one per line' },
  },
  setup: rejectUnknownArguments,
  run: async ({ args: { file, inspect, key, anchors } }) => {
    if (inspect !== true) throw usageError('An export can only be read for inspection: add --inspect');
    const { importForInspection } = await import('./import-export.ts');
    await finish(await importForInspection(await readConfig(), { file, key, anchors }));
  },
});
