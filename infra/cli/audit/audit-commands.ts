import { defineCommand } from 'citty';
import { rejectUnknownArguments } from '../arguments.ts';
import { runOnPlatform } from '../command-runs.ts';

export const auditCommand = defineCommand({
  meta: { name: 'audit', description: 'Manage the key that signs the audit logs' },
  subCommands: {
    'rotate-key': defineCommand({
      meta: { name: 'rotate-key', description: 'Replace the key that signs the heads of the audit logs; the old key signs the new one' },
      setup: rejectUnknownArguments,
      run: async () => {
        const { rotateAuditKey } = await import('./rotate-audit-key.ts');
        await runOnPlatform(rotateAuditKey);
      },
    }),
  },
});
