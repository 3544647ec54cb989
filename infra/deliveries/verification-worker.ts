import type { KeyObject } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { type BodyQuestion, type InspectedBody, inspectBody } from '../../domain/bodies/body-inspection.ts';
import { MAX_BODY_BYTES } from '../../domain/bodies/delivery-body.ts';
import type { ChunkedBody } from '../../domain/bodies/received-body.ts';
import { matchSecret, type SignatureClaim } from '../../domain/integrations/signature.ts';
import { sealBytes } from '../vault/sealed-bytes.ts';

let contiguous: Uint8Array | undefined;

/** The memory is reused for the next body. */
const joinChunks = ({ length, chunks }: ChunkedBody): Uint8Array => {
  contiguous ??= new Uint8Array(MAX_BODY_BYTES);
  let at = 0;
  for (const chunk of chunks) {
    contiguous.set(chunk, at);
    at += chunk.length;
  }
  return contiguous.subarray(0, length);
};

export type SealTask = { readonly key: KeyObject; readonly associatedData: Uint8Array; readonly plain: Uint8Array };

/** The running time of each task is proportional to the size of the body. */
const tasks = {
  matchSecret,
  inspectBody: ({ question, body }: { question: BodyQuestion; body: ChunkedBody }): InspectedBody =>
    inspectBody(question, joinChunks(body)),
  /** The memory of the result can be transferred to the other thread. */
  sealBytes: ({ key, associatedData, plain }: SealTask): Uint8Array<ArrayBuffer> => new Uint8Array(sealBytes(key, associatedData, plain)),
};

export type Tasks = typeof tasks;
export type TaskRequest = { readonly id: number; readonly name: keyof Tasks; readonly input: Parameters<Tasks[keyof Tasks]>[0] };
export type TaskResult = { readonly id: number; readonly result: ReturnType<Tasks[keyof Tasks]> };

const run = ({ name, input }: TaskRequest): TaskResult['result'] => {
  switch (name) {
    case 'matchSecret':
      return tasks.matchSecret(input as SignatureClaim);
    case 'inspectBody':
      return tasks.inspectBody(input as Parameters<Tasks['inspectBody']>[0]);
    case 'sealBytes':
      return tasks.sealBytes(input as SealTask);
  }
};

parentPort!.on('message', (request: TaskRequest) => {
  const result = run(request);
  const answer: TaskResult = { id: request.id, result };
  parentPort!.postMessage(answer, result instanceof Uint8Array ? [result.buffer as ArrayBuffer] : []);
});
