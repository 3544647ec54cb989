import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The command that frees disk space in an external event store. The operator of the event store must run it on every
 * node.
 */
const CLUSTER_COMMAND = 'curl -X POST http://<node>:2113/admin/scavenge -u admin:<password>';

/**
 * Removes everything that is encrypted with an old master key from the disk of the embedded event store. For an
 * external event store, it removes nothing.
 * @returns a line that contains the result, or what the operator must do
 */
export const scavengeKeys = async (annalsData: string): Promise<string> => {
  const dir = join(annalsData, 'store');
  if (!existsSync(join(dir, 'serving'))) return `scavenge every node of the event store now: ${CLUSTER_COMMAND}`;
  const { callRunningStore, SCAVENGE } = await import('../eventstore/embedded/admin-rpc.ts');
  return `the event store was scavenged: ${await callRunningStore(dir, SCAVENGE)}`;
};
