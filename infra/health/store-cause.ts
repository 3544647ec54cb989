import { reasonOf } from './finding.ts';

type Row = readonly [pattern: RegExp, advice: string];

const ADVICE: readonly Row[] = [
  [
    /access.denied|PERMISSION_DENIED|UNAUTHENTICATED|not authenticated/i,
    'correct the user and the password in EVENTSTORE_URL, or the rights of that user',
  ],
  [/RESOURCE_EXHAUSTED|no space|disk/i, 'free disk space and memory for the event store, and read its log'],
  [/certificate|TLS|SSL/i, 'correct tls, tlsCaFile and the host names in EVENTSTORE_URL (tls=false for a store without TLS)'],
  [/ENOTFOUND|EAI_AGAIN|name resolution/i, 'correct the host names in EVENTSTORE_URL'],
];

/** Returns what to do about an error of the event store; null if it does not say why the store cannot be used. */
export const storeAdvice = (error: unknown): string | null => {
  const { type = '', cause } = error as { type?: string; cause?: { type?: string } };
  const text = `${type} ${cause?.type ?? ''} ${reasonOf(error)}`;
  return ADVICE.find(([pattern]) => pattern.test(text))?.[1] ?? null;
};
