import { defineCommand } from 'citty';
import { finish } from '../../processes/exit.ts';
import { rejectUnknownArguments, usageError } from '../arguments.ts';
import { readConfig } from '../command-runs.ts';

const SELECTION = {
  from: { type: 'string', description: 'Only entries at or after this time, such as 2026-11-01T00:00:00Z' },
  until: { type: 'string', description: 'Only entries before this time' },
  action: { type: 'string', description: 'Only entries with this action, such as agent.updated, or agent.* for all of its kind' },
  agent: { type: 'string', description: 'Only entries about the agent with this id' },
  person: { type: 'string', description: 'Only what the user with this id did' },
  resource: { type: 'string', description: 'Only entries about the resource with this id, such as a delivery' },
} as const;

/** The query parameters of the API, by the names of these options. */
const PARAMETERS: Readonly<Record<keyof typeof SELECTION, string>> = {
  from: 'from',
  until: 'to',
  action: 'action',
  agent: 'agent_id',
  person: 'user_id',
  resource: 'resource_id',
};

const filterOf = (args: Readonly<Partial<Record<keyof typeof SELECTION, string>>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(PARAMETERS).flatMap(([option, name]) => {
      const value = args[option as keyof typeof SELECTION];
      return value === undefined ? [] : [[name, value]];
    }),
  );

export const exportCommand = defineCommand({
  meta: { name: 'export', description: 'Write the audited events of a tenant, with their proofs, to a file: all of them, or a selection' },
  args: {
    to: { type: 'string', description: 'New file to write to', required: true },
    tenant: { type: 'string', description: 'Id of the tenant (default: the tenant of ANNALS_KEY)' },
    ...SELECTION,
    wait: { type: 'boolean', description: 'Wait until a signed head covers the newest event: up to five minutes' },
  },
  setup: rejectUnknownArguments,
  run: async ({ args }) => {
    const { tenant, to, wait } = args;
    const { annalsUrl, annalsKey } = await readConfig('annalsUrl', 'annalsKey');
    const { exportTenant } = await import('./export-tenant.ts');
    await finish(await exportTenant({ tenant, to, wait: wait === true, url: annalsUrl!, key: annalsKey!, filter: filterOf(args) }));
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
