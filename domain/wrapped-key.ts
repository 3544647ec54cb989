import type { Recorded } from './event.ts';

export const category = 'key';

/** `wrapped` is the key, encrypted with the master key. So backups may contain it. */
export type WrappedKeyEvent =
  | { type: 'PlatformKeyCreated'; data: { kid: string; wrapped: string } }
  | { type: 'DataKeyCreated'; data: { kid: string; wrapped: string } };

/**
 * The wrapped keys of one tenant, the oldest first. The last one encrypts new secrets; each can decrypt the secrets
 * that it encrypted.
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
