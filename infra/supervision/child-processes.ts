import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ManagedProcess } from './supervisor.ts';

const main = join(import.meta.dirname, '../main.ts');
const POLL_MS = 20;
const REPEAT_WARNING_MS = 10_000;
/** Deliveries are accepted; the views get so long to come up too before the start counts as done without them. */
const WHOLE_MS = 10_000;

const node = (name: string, words: readonly string[], env: NodeJS.ProcessEnv): Omit<ManagedProcess, 'grace'> => ({
  name,
  command: process.execPath,
  args: [main, ...words],
  cwd: process.cwd(),
  env,
  stop: 'SIGTERM',
  hears: () => {},
});

export type Store = ManagedProcess & {
  readonly url: () => string;
  /** Whether `url` can be told before it runs. */
  readonly isKnown: () => boolean;
};

/** The embedded event store as a process. It makes its secret when it starts first, so `url` is known when it is ready, from then on before. */
export const store = ({ dir, port }: { dir: string; port: number }): Store => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return {
    ...node('store', ['store', 'serve', '--dir', dir, '--port', String(port)], process.env),
    grace: 10_000,
    says: /^store ready /m,
    isKnown: () => existsSync(join(dir, 'secret')),
    url: () => {
      const secret = encodeURIComponent(readFileSync(join(dir, 'secret'), 'utf8').trim());
      return `esdb://127.0.0.1:${port}?tls=false&connectionName=${secret}`;
    },
  };
};

type Readiness = { readonly status: number; readonly degraded: readonly string[] };

// Neither `fetch` nor an import of `node:http`: either loads all of undici for this alone, while what it asks for is still starting.
const { get } = process.getBuiltinModule('node:http');

const readiness = (base: string, ended: AbortSignal): Promise<Readiness | undefined> =>
  new Promise((resolve) => {
    const give = (): void => resolve(undefined);
    const asked = get(`${base}/readyz`, { agent: false, signal: AbortSignal.any([ended, AbortSignal.timeout(5_000)]) }, (response) => {
      json(response).then((body) => resolve({ status: response.statusCode!, degraded: (body as Readiness).degraded }), give);
    });
    asked.on('error', give);
  });

/** Resolves when /readyz says 200, and a little later where something is still degraded; tells now and then what it says instead. */
const readyz = async (base: string, say: (line: string) => void, ended: AbortSignal): Promise<void> => {
  let readySince: number | undefined;
  for (let told = Date.now(); !ended.aborted; await sleep(POLL_MS)) {
    const found = await readiness(base, ended);
    readySince = found?.status === 200 ? (readySince ?? Date.now()) : undefined;
    if (readySince && (found?.degraded.length === 0 || Date.now() - readySince > WHOLE_MS)) return;
    if (found === undefined || Date.now() - told < REPEAT_WARNING_MS) continue;
    told = Date.now();
    say(`still waiting for ${found.degraded.join(', ')}: ${base}/readyz answers ${found.status}`);
  }
};

export type ServeOptions = { env: NodeJS.ProcessEnv; base: string; say: (line: string) => void; hears: (message: unknown) => void };

/** The HTTP service as a process; ready when it accepts deliveries. */
export const serve = ({ env, base, say, hears }: ServeOptions): ManagedProcess => ({
  ...node('serve', ['serve'], env),
  grace: 15_000,
  hears,
  prepare: (ended) => readyz(base, say, ended),
});

/** Projections and reactors as a process. */
export const work = (env: NodeJS.ProcessEnv): ManagedProcess => ({ ...node('work', ['work'], env), grace: 15_000, yields: true });
