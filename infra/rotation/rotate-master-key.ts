import { setTimeout as sleep } from 'node:timers/promises';
import { counted } from '../../domain/counted.ts';
import type { Actor } from '../../domain/event.ts';
import * as Rotation from '../../domain/operations/key-rotation.ts';
import { LogError } from '../eventstore/event-log.ts';
import { ensureNextKey, replaceMasterKey } from '../vault/master-key.ts';
import { openMasterKeys } from '../vault/master-keys.ts';
import { type KeyPlace, keyStream, NAME_KEY } from '../vault/wrapped-keys.ts';
import { findKeyPlaces, hideOldWraps, type Rewrapping, rewrapStream } from './rewrap-keys.ts';
import type { RotationRecord } from './rotation-record.ts';

/**
 * How long new keys can still be encrypted with the old master key, in milliseconds after the log says that only the
 * new master key is to be used. A process may have read the log before that, and its append takes up to ten seconds.
 */
const GRACE_MS = 15_000;

export type MasterRotationParts = {
  readonly record: RotationRecord;
  readonly masterKeyFile: string;
  /** Returns a line with the result, or what the operator must do. */
  readonly scavenge: () => Promise<string>;
  readonly actor: Actor;
  /** Called with the name of each change before it is made. */
  readonly onStep?: (step: string) => void | Promise<void>;
  /** Called with a line for the operator. */
  readonly onProgress?: (line: string) => void;
  readonly graceMs?: number;
};

/**
 * Starts a rotation, or continues to prepare the running one. A missing next key is created in a file beside MASTER_KEY_FILE. Returns its
 * id.
 * @throws Error with a one-line message for the operator
 */
export const startMasterRotation = async ({ record, masterKeyFile, actor, onStep = () => {} }: MasterRotationParts): Promise<string> => {
  const { master } = await record.load();
  if (master?.is_confirmed) return master.to_kid;
  const main = (await openMasterKeys(masterKeyFile, false)).main();
  await onStep('create the next key');
  const next = await ensureNextKey(masterKeyFile);
  await onStep('record the start');
  await record.transact(Rotation.startMasterRotation({ from_kid: main.kid, to_kid: next.kid }), actor);
  return next.kid;
};

const isOfLog = (error: unknown): boolean => error instanceof LogError && error.kind !== 'damaged';

type Pass = { readonly places: readonly KeyPlace[]; readonly damaged: readonly string[] };

/**
 * Repeats until no key lacks a copy with the new master key. Damaged keys stay. Returns the streams of keys that can be decrypted, and
 * messages about damaged ones.
 */
const rewrapAll = async (rewrapping: Rewrapping, onProgress: (line: string) => void): Promise<Pass> => {
  for (;;) {
    const found = await findKeyPlaces(rewrapping.log);
    const places: KeyPlace[] = [];
    const damaged: string[] = [];
    let rewrapped = 0;
    for (const place of found) {
      try {
        rewrapped += await rewrapStream(rewrapping, place);
        places.push(place);
      } catch (error) {
        if (isOfLog(error)) throw error;
        damaged.push((error as Error).message);
      }
      if ((places.length + damaged.length) % 100 === 0) onProgress(`streams of keys done: ${places.length} of ${found.length}`);
    }
    if (rewrapped > 0)
      onProgress(`encrypted with the new master key, too: ${counted(rewrapped, 'key')} in ${counted(found.length, 'stream')}`);
    if (rewrapped === 0) return { places, damaged };
  }
};

const isNameKey = (place: KeyPlace): boolean => keyStream(place) === keyStream(NAME_KEY);

/** Stops using the old master key. From its first step on, new keys are encrypted only with the new master key. */
const giveUpOldKey = async (rewrapping: Rewrapping, parts: MasterRotationParts): Promise<number> => {
  const { graceMs = GRACE_MS, onProgress = () => {} } = parts;
  await hideOldWraps(rewrapping, NAME_KEY);
  onProgress(`waiting ${graceMs / 1_000} s for keys that are being created`);
  await sleep(graceMs);
  const { places } = await rewrapAll(rewrapping, onProgress);
  let keys = 0;
  for (const place of places.filter((each) => !isNameKey(each))) keys += await hideOldWraps(rewrapping, place);
  return keys + 1;
};

/** `waits-for-confirmation`: all keys are encrypted with both master keys (see `MasterKeyRotationConfirmed`). */
export type RotationOutcome = 'none' | 'waits-for-confirmation' | 'completed';

/**
 * Each step can be repeated by any number of processes, even after a kill. No request has to wait: until every process knows the new master
 * key, keys are encrypted with both.
 * @throws LogError, Error with a one-line message for the operator
 */
export const continueMasterRotation = async (parts: MasterRotationParts): Promise<RotationOutcome> => {
  const { record, masterKeyFile, scavenge, actor, onStep = () => {}, onProgress = () => {} } = parts;
  const { master } = await record.load();
  if (!master) return 'none';
  const masters = await openMasterKeys(masterKeyFile, false);
  const to = masters.find(master.to_kid);
  if (!to) throw new Error(`the next master key ${master.to_kid} is missing: put it into ${masterKeyFile}.next`);
  const rewrapping: Rewrapping = { log: record.log, masters, to, onStep };
  const { damaged } = await rewrapAll(rewrapping, onProgress);
  for (const message of damaged) onProgress(`left as it is: ${message}`);
  if (!master.is_confirmed) return 'waits-for-confirmation';
  await onStep('replace the file');
  await replaceMasterKey(masterKeyFile, to.kid);
  const keys = await giveUpOldKey(rewrapping, parts);
  await onStep('scavenge');
  onProgress(await scavenge());
  await onStep('record the end');
  await record.transact(Rotation.completeMasterRotation(to.kid, keys), actor);
  return 'completed';
};
