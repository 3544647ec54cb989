import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Frees disk space in an external event store. Its operator must run it on every node. */
const CLUSTER_COMMAND = 'curl -X POST http://<node>:2113/admin/scavenge -u admin:<password>';

/**
 * Removes from the disk what an old master key encrypts; nothing for an external event store. Returns a line with the result, or what the
 * operator must do.
 */
export const scavengeKeys = async (annalsData: string): Promise<string> => {
  const dir = join(annalsData, 'store');
  if (!existsSync(join(dir, 'serving'))) return `scavenge every node of the event store now: ${CLUSTER_COMMAND}`;
  const { callRunningStore, SCAVENGE } = await import('../eventstore/embedded/admin-rpc.ts');
  return `the event store was scavenged: ${await callRunningStore(dir, SCAVENGE)}`;
};
