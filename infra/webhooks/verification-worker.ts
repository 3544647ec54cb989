import { parentPort } from 'node:worker_threads';
import { inspectBody, type Media } from '../../domain/webhooks/provider.ts';
import { matchSecret, type SignatureClaim } from '../../domain/webhooks/signature.ts';

/** The functions that this thread runs. Their running time grows with the size of the body. */
const tasks = {
  matchSecret,
  inspectBody: ({ media, body }: { media: Media; body: Uint8Array }) => inspectBody(media, body),
};

export type Tasks = typeof tasks;
export type TaskRequest = { readonly id: number; readonly name: keyof Tasks; readonly input: Parameters<Tasks[keyof Tasks]>[0] };
export type TaskResult = { readonly id: number; readonly result: ReturnType<Tasks[keyof Tasks]> };

const run = ({ id, name, input }: TaskRequest): TaskResult => ({
  id,
  result:
    name === 'matchSecret' ? tasks.matchSecret(input as SignatureClaim) : tasks.inspectBody(input as Parameters<Tasks['inspectBody']>[0]),
});

parentPort!.on('message', (request: TaskRequest) => parentPort!.postMessage(run(request)));
