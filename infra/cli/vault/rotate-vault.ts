import { counted } from '../../../domain/counted.ts';
import * as KeyRotation from '../../../domain/operations/key-rotation.ts';
import { openBlobPlace } from '../../blobs/open-blob-store.ts';
import type { Config } from '../../config.ts';
import { LogError } from '../../eventstore/event-log.ts';
import { createExamplePrinter } from '../../logging/examples.ts';
import { printLine } from '../../logging/print-line.ts';
import { isDue, reportKeys } from '../../rotation/key-report.ts';
import { continueDataKeyRotation, type DataKeyRotationParts, startDataKeyRotation } from '../../rotation/rotate-data-key.ts';
import { continueMasterRotation, type MasterRotationParts, startMasterRotation } from '../../rotation/rotate-master-key.ts';
import { openRotationRecord } from '../../rotation/rotation-record.ts';
import { scavengeKeys } from '../../rotation/scavenge-keys.ts';
import { NEXT_SUFFIX, OLD_SUFFIX } from '../../vault/master-key.ts';
import { withOperatorVault } from '../operator-context.ts';

const ACTOR = { kind: 'system', id: 'annals vault rotate' } as const;

const printCompleted = ({ masterKeyFile }: Config, from: string, to: string): void => {
  printLine(`the master key is ${to}, in ${masterKeyFile}: keep a copy of it, separate from the event log`);
  printLine(`the old one, in ${masterKeyFile}${OLD_SUFFIX}${from}, opens only older backups: move it to the place of those backups`);
};

/**
 * A platform on several machines takes two calls; between them, the operator copies the new key to every machine. Returns the exit code.
 * @throws Error with a one-line message for the operator
 */
export const rotateMasterKey = (config: Config, isConfirmed: boolean): Promise<number> =>
  withOperatorVault(config, async ({ log }) => {
    const { masterKeyFile, annalsData, eventstoreUrl } = config;
    const record = openRotationRecord(log);
    const parts: MasterRotationParts = {
      record,
      masterKeyFile,
      scavenge: () => scavengeKeys(annalsData),
      actor: ACTOR,
      onProgress: printLine,
    };
    const isOneMachine = eventstoreUrl === undefined;
    if (isConfirmed && !isOneMachine && !(await record.load()).master)
      throw new Error('no rotation of the master key is in progress: run annals vault rotate --master first');
    const to = await startMasterRotation(parts);
    const { master } = await record.load();
    if (isConfirmed || isOneMachine) await record.transact(KeyRotation.confirmMasterRotation(to), ACTOR);
    const outcome = await continueMasterRotation(parts);
    if (outcome === 'waits-for-confirmation') {
      printLine('all keys can be opened with both master keys now');
      printLine(`copy ${masterKeyFile}${NEXT_SUFFIX} to every machine that runs serve or work, beside its master key; then run`);
      printLine('annals vault rotate --master --finish');
      return 0;
    }
    printCompleted(config, master!.from_kid, to);
    return 0;
  });

/** Returns a line about what was done. */
const rotateOne = async (parts: DataKeyRotationParts, tenant: string): Promise<string> => {
  const kid = await startDataKeyRotation(parts, tenant);
  const resealed = await continueDataKeyRotation(parts, tenant, kid);
  if (!resealed) return `${tenant} was erased`;
  const { files, secrets } = resealed;
  return `${tenant} has the data key ${kid}; encrypted again with it: ${counted(secrets, 'secret')}, ${counted(files, 'file')}`;
};

const explainErased =
  (tenant: string) =>
  (error: unknown): never => {
    throw error instanceof LogError && error.kind === 'gone' ? new Error(`the tenant ${tenant} was erased`) : error;
  };

export type DataKeyRotation = { readonly tenant: string | undefined; readonly verbose: boolean };

/**
 * Without `tenant`, replaces the keys of all tenants whose newest one is older than 90 days. Returns the exit code.
 * @throws Error with a one-line message for the operator
 */
export const rotateDataKeys = (config: Config, { tenant, verbose }: DataKeyRotation): Promise<number> =>
  withOperatorVault(config, async ({ log, vault }) => {
    const { masterKeyFile } = config;
    const record = openRotationRecord(log);
    const parts = { record, masterKeyFile, vault, blobs: await openBlobPlace(config), actor: ACTOR, onProgress: printLine };
    const due = tenant === undefined ? (await reportKeys(log)).tenants.filter(isDue).map((keys) => keys.tenant) : [tenant];
    const examples = createExamplePrinter(verbose);
    for (const each of due) examples.print('replaced', await rotateOne(parts, each).catch(explainErased(each)));
    examples.end();
    if (due.length === 0) printLine('no data key is older than 90 days');
    if (due.length > 1) printLine(`replaced: ${counted(due.length, 'data key')}`);
    return 0;
  });
