import type { Config } from '../../config.ts';

export type EmbeddedUse = 'back up' | 'restore' | 'scavenge' | 'verify';

/** `or` is appended to the message. @throws Error with a one-line message for the operator if EVENTSTORE_URL is set */
export const assertStoreIsEmbedded = ({ eventstoreUrl }: Config, use: EmbeddedUse, or = ''): void => {
  if (!eventstoreUrl) return;
  throw new Error(`this command can only ${use} the embedded event store: ${use} that of EVENTSTORE_URL with its own tools${or}`);
};
