import { appendMethod } from '../../infra/eventstore/embedded/append-handlers.ts';
import { confirmation } from '../../infra/eventstore/embedded/append-responses.ts';
import { batchAppendMethod } from '../../infra/eventstore/embedded/batch-append-handler.ts';
import { type Call, grpcServer, type Receiver } from '../../infra/eventstore/embedded/grpc.ts';
import { readRequestOf } from '../../infra/eventstore/embedded/read-request.ts';
import { frameAt, JSON_DATA, maxRecordSize, type ProposedEvent, writeRecord } from '../../infra/eventstore/embedded/record.ts';
import { FEATURES, featuresMethod } from '../../infra/eventstore/embedded/server-info-handlers.ts';
import type { Writer } from '../../infra/eventstore/embedded/writer.ts';

/**
 * What a store can at best be for the client: it decodes and answers, and keeps nothing on a disk, compares no revision and looks up no id.
 * Of $all it plays back, from the start, what it was given first: `node null-store.ts <port> <events>`.
 */
const [PORT, KEPT] = process.argv.slice(2).map(Number) as [number, number];
const CHUNK = 64 << 10;

type Job = Parameters<Writer['submit']>[0];

const chunks: { bytes: Buffer; ends: number[] }[] = [];
let events = 0;
let position = 0;
let scratch = Buffer.alloc(0);

const keep = (event: ProposedEvent, stream: string, revision: number): void => {
  if (events === KEPT) return;
  events++;
  const room = maxRecordSize(event, stream.length * 3);
  if (scratch.length < room) scratch = Buffer.allocUnsafeSlow(room);
  const flags = event.json ? JSON_DATA : 0;
  writeRecord(scratch, 0, event, { stream: Buffer.from(stream), revision, position, created: Date.now(), batchStart: position, flags });
  const frame = frameAt(scratch, 0);
  let last = chunks.at(-1);
  const end = last?.ends.at(-1) ?? 0;
  if (!last || end + frame.length > last.bytes.length) {
    last = { bytes: Buffer.allocUnsafeSlow(Math.max(CHUNK, frame.length)), ends: [] };
    chunks.push(last);
  }
  const from = last.ends.at(-1) ?? 0;
  last.ends.push(from + frame.copy(last.bytes, from));
};

const revisions = new Map<string, number>();

const answered = ({ request, respond }: Job): void => {
  let revision = revisions.get(request.stream) ?? -1;
  for (const event of request.events) {
    position += event.data.length;
    keep(event, request.stream, ++revision);
  }
  revisions.set(request.stream, revision);
  respond({ kind: 'done', revision, position });
};

let queue: Job[] = [];
let sinks = new Set<() => void>();

const flush = (): void => {
  const jobs = queue;
  queue = [];
  for (const job of jobs) answered(job);
  const written = sinks;
  sinks = new Set();
  for (const send of written) send();
};

const writer: Writer = {
  submit: (job) => {
    if (queue.push(job) === 1) setImmediate(flush);
  },
  afterBatch: (send) => void sinks.add(send),
  idle: () => Promise.resolve(),
  flush,
};

const played = async (call: Call, count: number): Promise<void> => {
  let left = count;
  for (const { bytes, ends } of chunks) {
    const taken = Math.min(left, ends.length);
    if (taken === 0) break;
    left -= taken;
    if (!call.send(bytes.subarray(0, ends[taken - 1]))) await call.drained();
  }
};

const readMethod = (call: Call): Receiver => ({
  message: (bytes) => {
    const { count, subscription } = readRequestOf(bytes);
    if (subscription) call.send(confirmation('00000000-0000-0000-0000-000000000000'));
    void played(call, count).then(() => subscription || call.end());
  },
  end: () => {},
});

const STREAMS = '/event_store.client.streams.Streams';

const { server } = grpcServer(
  {
    [`${STREAMS}/Append`]: appendMethod(writer),
    [`${STREAMS}/BatchAppend`]: batchAppendMethod(writer),
    [`${STREAMS}/Read`]: readMethod,
    [FEATURES]: featuresMethod,
  },
  () => undefined,
);
server.listen(PORT, '127.0.0.1', () => process.stdout.write(`listening on ${PORT}\n`));
