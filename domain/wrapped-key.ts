import type { Recorded } from './event.ts';

export const category = 'key';

/** `wrapped` is the key sealed under the master key: it may stand in every backup. */
export type WrappedKeyEvent =
  | { type: 'PlatformKeyCreated'; data: { kid: string; wrapped: string } }
  | { type: 'DataKeyCreated'; data: { kid: string; wrapped: string } };

/** The wrapped keys of one tenant, oldest first: the last one seals, all of them open. */
export type WrappedKeys = readonly { kid: string; wrapped: string }[];

export const initial: WrappedKeys = [];

export const evolve = (keys: WrappedKeys, event: Recorded<WrappedKeyEvent>): WrappedKeys => {
  switch (event.type) {
    case 'PlatformKeyCreated':
    case 'DataKeyCreated':
      return [...keys, event.data];
  }
};
