import type { Recorded } from './event.ts';

export const category = 'key';

/** `wrapped` is a key, encrypted with the master key. Because it is encrypted, it can be part of backups of the log. */
export type WrappedKeyEvent =
  | { type: 'PlatformKeyCreated'; data: { kid: string; wrapped: string } }
  | { type: 'DataKeyCreated'; data: { kid: string; wrapped: string } };

/**
 * The wrapped keys of one tenant, the oldest first. The last key encrypts new secrets. The earlier ones decrypt the
 * secrets that they encrypted.
 */
export type WrappedKeys = readonly { kid: string; wrapped: string }[];

export const initial: WrappedKeys = [];

export const evolve = (keys: WrappedKeys, event: Recorded<WrappedKeyEvent>): WrappedKeys => {
  switch (event.type) {
    case 'PlatformKeyCreated':
    case 'DataKeyCreated':
      return [...keys, event.data];
  }
};
