import { parentPort } from 'node:worker_threads';
import { type BodyQuestion, type InspectedBody, inspectBody } from '../../domain/webhooks/body-inspection.ts';
import { type ChunkedBody, MAX_BODY_BYTES } from '../../domain/webhooks/delivery-body.ts';

import { matchSecret, type SignatureClaim } from '../../domain/webhooks/signature.ts';

let contiguous: Uint8Array | undefined;

/** Copies a body into memory that is reused for the next body. */
const joinChunks = ({ length, chunks }: ChunkedBody): Uint8Array => {
  contiguous ??= new Uint8Array(MAX_BODY_BYTES);
  let at = 0;
  for (const chunk of chunks) {
    contiguous.set(chunk, at);
    at += chunk.length;
  }
  return contiguous.subarray(0, length);
};

/** The functions that this thread runs. Their running time grows with the size of the body. */
const tasks = {
  matchSecret,
  inspectBody: ({ question, body }: { question: BodyQuestion; body: ChunkedBody }): InspectedBody =>
    inspectBody(question, joinChunks(body)),
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
