import { PLATFORM } from '../../domain/event.ts';
import * as KeyRotation from '../../domain/operations/key-rotation.ts';
import type { Config } from '../config.ts';
import { openLog } from '../eventstore/client.ts';
import type { Log } from '../eventstore/event-log.ts';
import { continueMasterRotation, type MasterRotationParts, startMasterRotation } from '../rotation/rotate-master-key.ts';
import { openRotationRecord } from '../rotation/rotation-record.ts';
import { scavengeKeys } from '../rotation/scavenge-keys.ts';
import { NEXT_SUFFIX, OLD_SUFFIX } from '../vault/master-key.ts';
import { readWrappedKeys } from '../vault/wrapped-keys.ts';
import { locateServices } from './locate-services.ts';

const ACTOR = { kind: 'system', id: 'annals vault rotate' } as const;

const withLog = async <T>(config: Config, work: (log: Log) => Promise<T>): Promise<T> => {
  const log = openLog(locateServices(config).eventstoreUrl);
  try {
    if ((await readWrappedKeys(log, PLATFORM, 'name')).length === 0)
      throw new Error('this platform was never started: run annals start or annals serve first');
    return await work(log);
  } finally {
    await log.close();
  }
};

const print = (line: string): void => console.log(line);

const printCompleted = ({ masterKeyFile }: Config, from: string, to: string): void => {
  print(`the master key is ${to}, in ${masterKeyFile}: keep a copy of it, separate from the event log`);
  print(`the old one, in ${masterKeyFile}${OLD_SUFFIX}${from}, opens only backups from before: move it to where they are`);
};

/**
 * Replaces the master key. On several machines this takes two calls: the operator copies the next key to every machine
 * between them.
 * @returns the exit code @throws Error of one line
 */
export const rotateMasterKey = (config: Config, isConfirmed: boolean): Promise<number> =>
  withLog(config, async (log) => {
    const { masterKeyFile, annalsData, eventstoreUrl } = config;
    const record = openRotationRecord(log);
    const parts: MasterRotationParts = {
      record,
      masterKeyFile,
      scavenge: () => scavengeKeys(annalsData),
      actor: ACTOR,
      onProgress: print,
    };
    const isOneMachine = eventstoreUrl === undefined;
    if (isConfirmed && !isOneMachine && !(await record.load()).master)
      throw new Error('no rotation of the master key is in progress: run annals vault rotate --master first');
    const to = await startMasterRotation(parts);
    const { master } = await record.load();
    if (isConfirmed || isOneMachine) await record.transact(KeyRotation.confirmMasterRotation(to), ACTOR);
    const outcome = await continueMasterRotation(parts);
    if (outcome === 'waits-for-confirmation') {
      print('all keys can be opened with both master keys now');
      print(`copy ${masterKeyFile}${NEXT_SUFFIX} to every machine that runs serve or work, beside its master key; then run`);
      print('annals vault rotate --master --finish');
      return 0;
    }
    printCompleted(config, master!.from_kid, to);
    return 0;
  });
