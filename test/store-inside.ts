import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { Outcome } from '../infra/eventstore/embedded/decide.ts';
import type { Store } from '../infra/eventstore/embedded/store.ts';
import { spanOf } from '../infra/eventstore/embedded/wire.ts';

const span = (text: string) => spanOf(Buffer.from(text));

/** A store's event: so many bytes, or a text. */
export const proposed = (data: number | string = 10, type = 'happened') => ({
  id: span(randomUUID()),
  type: span(type),
  json: false,
  data: typeof data === 'string' ? span(data) : spanOf(Buffer.alloc(data, 1)),
  custom: span(''),
});

/** An append to a store without a server. */
export const append = (store: Store, stream: string, expected: number, events = [proposed()]): Promise<Outcome | { kind: 'late' }> =>
  new Promise((answer) =>
    store.writer.submit({ wish: { kind: 'append', stream, expected, events }, due: Number.POSITIVE_INFINITY, answer }),
  );

export const unexpected = (error: unknown): never => {
  throw error;
};

/** Replaces some of the disk's functions while `work` runs. */
export const replacing = async (functions: Partial<typeof fs>, work: () => unknown): Promise<void> => {
  const sound = Object.fromEntries(Object.keys(functions).map((name) => [name, fs[name as keyof typeof fs]]));
  Object.assign(fs, functions);
  syncBuiltinESMExports();
  try {
    await work();
  } finally {
    Object.assign(fs, sound);
    syncBuiltinESMExports();
  }
};

/** Has one of the disk's functions fail while `work` runs. */
export const failing = (name: 'writeSync' | 'fdatasyncSync' | 'ftruncateSync', code: string, work: () => Promise<void>): Promise<void> =>
  replacing(
    {
      [name]: () => {
        throw Object.assign(new Error(code), { code });
      },
    },
    work,
  );
