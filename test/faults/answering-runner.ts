import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectRunner } from '../../infra/runner/runner-client.ts';

// This program is a runner that a test kills. It answers each message with a text that is different in each process. With
// HANGS, its handler does not return after its last answer.

const { RUNNER_HOME: home = '', PROGRESS_MS, HANGS } = process.env;
const LAST = 'the last one';

const runner = await connectRunner({ dir: join(home, 'ledgers') });
console.log('waiting for messages');
await runner.receive(
  async ({ data }, { session }) => {
    const answer = async (content: string | null): Promise<void> => {
      const appended = await session!.wait(`${process.pid} answers ${content}`, { key: 'answer' });
      console.log(`${appended ? 'answered' : 'had answered'} ${content}`);
    };
    const { content } = (data as { message: { content: string } }).message;
    await answer(content);
    if (content !== LAST)
      for await (const message of session!.messages()) {
        await answer(message.content);
        if (message.content === LAST) break;
      }
    if (HANGS) await sleep(3_600_000);
  },
  // While a handler runs, the other worker fetches what waits.
  { progressMs: Number(PROGRESS_MS), concurrency: 2 },
);
