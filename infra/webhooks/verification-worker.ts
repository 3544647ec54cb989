import { parentPort } from 'node:worker_threads';
import { inspectBody, type Media } from '../../domain/webhooks/provider.ts';
import { type Claim, matchSecret } from '../../domain/webhooks/signature.ts';

/** What takes the length of a body, and can be done by another thread. */
const work = {
  matching: matchSecret,
  contents: ({ media, body }: { media: Media; body: Uint8Array }) => inspectBody(media, body),
};

export type Work = typeof work;
export type Task = { readonly id: number; readonly name: keyof Work; readonly given: Parameters<Work[keyof Work]>[0] };
export type Done = { readonly id: number; readonly result: ReturnType<Work[keyof Work]> };

const done = ({ id, name, given }: Task): Done => ({
  id,
  result: name === 'matching' ? work.matching(given as Claim) : work.contents(given as Parameters<Work['contents']>[0]),
});

// The thread's own end of the port to who started it.
parentPort!.on('message', (task: Task) => parentPort!.postMessage(done(task)));
