import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectRunner } from '../../infra/runner/runner-client.ts';

// This program is a runner that a test kills. The effect of each message of a session is a line in the file `effects`,
// which is on the disk before the handler returns.

/** The maximum time in milliseconds between the effect of a message and the return of the handler. */
const MAX_PAUSE_MS = 20;
const { RUNNER_HOME: home = '', CONCURRENCY, PROGRESS_MS } = process.env;

const runner = await connectRunner({ dir: join(home, 'ledgers') });
console.log('waiting for messages');
await runner.receive(
  async ({ id, session, data }) => {
    const { message } = data as { message: { content: string } };
    appendFileSync(join(home, 'effects'), `${session} ${message.content} ${id}\n`, { flush: true });
    await sleep(Math.random() * MAX_PAUSE_MS);
  },
  { concurrency: Number(CONCURRENCY), progressMs: Number(PROGRESS_MS) },
);
