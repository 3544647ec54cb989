import { defineCommand } from 'citty';
import { finish } from '../processes/exit.ts';
import { rejectUnknownArguments } from './arguments.ts';
import { readConfig } from './command-runs.ts';

export const exportCommand = defineCommand({
  meta: { name: 'export', description: 'Write all audited events of a tenant, with their proofs, to a file' },
  args: {
    to: { type: 'string', description: 'New file to write to', required: true },
    tenant: { type: 'string', description: 'Id of the tenant (default: that of ANNALS_KEY)' },
  },
  setup: rejectUnknownArguments,
  run: async ({ args: { tenant, to } }) => {
    const { annalsUrl, annalsKey } = await readConfig('annalsUrl', 'annalsKey');
    const { exportTenant } = await import('./export-tenant.ts');
    await finish(await exportTenant({ tenant, to, url: annalsUrl!, key: annalsKey! }));
  },
});
