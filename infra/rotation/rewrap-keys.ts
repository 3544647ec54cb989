import { randomUUID } from 'node:crypto';
import { fold } from '../../domain/aggregate.ts';
import { parseStream, type Recorded } from '../../domain/event.ts';
import type { WrappedKeyEvent, WrappedKeys } from '../../domain/wrapped-key.ts';
import * as Wrapped from '../../domain/wrapped-key.ts';
import { isConflict, type Log, LogError } from '../eventstore/event-log.ts';
import type { NamedKey } from '../vault/cipher.ts';
import type { MasterKeys } from '../vault/master-keys.ts';
import { type KeyPlace, keyStream, metadataOf, readKeyEvents, unwrapKeys, wrapKey, wrapperOf, wrapsOf } from '../vault/wrapped-keys.ts';
import { findStreams } from './find-streams.ts';

/** Encrypts keys with the master key `to`. `onStep` gets the name of each change before it is made. */
export type Rewrapping = {
  readonly log: Log;
  readonly masters: MasterKeys;
  readonly to: NamedKey;
  readonly onStep: (step: string) => void | Promise<void>;
};

/** Returns the streams that store keys, in the order in which they were created. @throws LogError unavailable */
export const findKeyPlaces = async (log: Log): Promise<KeyPlace[]> =>
  (await findStreams(log, { streamPrefixes: [`${Wrapped.category}-`] })).map((stream) => parseStream(stream)!);

const isWrappedWith = (to: NamedKey) => (wrapped: string) => wrapperOf(wrapped) === to.kid;

const wrapsIn = ({ type, data }: Recorded<WrappedKeyEvent>): string[] =>
  type === 'KeysRewrapped' ? data.keys.map(({ wrapped }) => wrapped) : [data.wrapped];

/** Returns whether the stream had changed in the meantime. */
const appendRewrapped = async (
  { log, masters, to }: Rewrapping,
  place: KeyPlace,
  keys: WrappedKeys,
  revision: number,
): Promise<boolean> => {
  const plain = await unwrapKeys(masters, place, keys);
  const rewrapped = plain.map((key, index) => ({
    kid: key.kid,
    wrapped: wrapKey(to, place, key),
    created_at: keys[index]!.created_at,
  }));
  try {
    await log.append(keyStream(place), revision, [
      { id: randomUUID(), type: 'KeysRewrapped' satisfies WrappedKeyEvent['type'], data: { keys: rewrapped }, meta: metadataOf(place) },
    ]);
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
};

/** An empty list if the stream was erased. @throws LogError */
const eventsOf = (log: Log, place: KeyPlace): Promise<Recorded<WrappedKeyEvent>[]> =>
  readKeyEvents(log, place).catch((error: unknown) => {
    if (error instanceof LogError && error.kind === 'gone') return [];
    throw error;
  });

/**
 * Adds a copy of each key that is encrypted with `to`, if one lacks it; the earlier master key still works. Returns their number.
 * @throws LogError, Error with a one-line message for the operator if a key cannot be decrypted
 */
export const rewrapStream = async (rewrapping: Rewrapping, place: KeyPlace): Promise<number> => {
  const { log, to, onStep } = rewrapping;
  for (;;) {
    const events = await eventsOf(log, place);
    const keys = fold(Wrapped, events);
    if (keys.every((key) => wrapsOf(key).some(isWrappedWith(to)))) return 0;
    await onStep(`rewrap ${keyStream(place)}`);
    if (await appendRewrapped(rewrapping, place, keys, events.at(-1)!.revision)) return keys.length;
  }
};

/**
 * Scavenging then removes keys encrypted with other master keys. All keys of the stream must be encrypted with `to` before. Returns the
 * number of keys of the stream.
 */
export const hideOldWraps = async (rewrapping: Rewrapping, place: KeyPlace): Promise<number> => {
  const { log, to, onStep } = rewrapping;
  for (;;) {
    const events = await eventsOf(log, place);
    const keys = fold(Wrapped, events);
    const isCurrent = (event: Recorded<WrappedKeyEvent>): boolean => wrapsIn(event).every(isWrappedWith(to));
    if (events.every(isCurrent)) return keys.length;
    const whole = events.findLast(({ type }) => type === 'KeysRewrapped');
    if (whole && events.filter(({ revision }) => revision >= whole.revision).every(isCurrent)) {
      await onStep(`truncate ${keyStream(place)}`);
      await log.truncate(keyStream(place), whole.revision);
      return keys.length;
    }
    await onStep(`rewrap ${keyStream(place)} again`);
    await appendRewrapped(rewrapping, place, keys, events.at(-1)!.revision);
  }
};
