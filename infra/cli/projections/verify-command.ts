import { defineCommand } from 'citty';
import { finish } from '../../processes/exit.ts';
import { JSON_OPTION, rejectUnknownOptions, usageError, VERBOSE_OPTION } from '../arguments.ts';
import { runOnPlatform } from '../command-runs.ts';

export const verifyCommand = defineCommand({
  meta: { name: 'verify', description: 'Compare every row of every projection with what the log yields, or verify an export' },
  args: {
    projection: { type: 'positional', description: 'Names of projections (default: all)', required: false },
    audit: { type: 'string', description: 'Verify this file of annals export instead, without a platform' },
    key: { type: 'string', description: "With --audit: id of a key that is known to be the platform's" },
    anchors: { type: 'string', description: 'With --audit: file with the heads that AUDIT_ANCHOR_URL has received, one per line' },
    json: JSON_OPTION,
    verbose: VERBOSE_OPTION,
  },
  setup: rejectUnknownOptions,
  run: async ({ args: { audit, key, anchors, _: names, ...args } }) => {
    const output = { json: args.json === true, verbose: args.verbose === true };
    if (audit !== undefined && names.length > 0) throw usageError('--audit takes no names of projections');
    if (audit !== undefined) {
      const { verifyExport } = await import('../audit/verify-export.ts');
      return finish(await verifyExport({ file: audit, key, anchors, ...output }));
    }
    if (key !== undefined || anchors !== undefined) throw usageError('--key and --anchors need --audit');
    const { projectionsNamed, verify } = await import('./verify-projections.ts');
    const chosen = projectionsNamed(names);
    return runOnPlatform((config) => verify(config, { ...output, chosen }));
  },
});
