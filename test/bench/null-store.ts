import { type Call, grpcServer, type Receiver } from '../../infra/eventstore/embedded/grpc.ts';
import { frameAt, JSON_DATA, maxRecordSize, type ProposedEvent, writeRecord } from '../../infra/eventstore/embedded/log/record.ts';
import { appendMethod } from '../../infra/eventstore/embedded/rpc/append-handlers.ts';
import { confirmation } from '../../infra/eventstore/embedded/rpc/append-responses.ts';
import { batchAppendMethod } from '../../infra/eventstore/embedded/rpc/batch-append-handler.ts';
import { readRequestOf } from '../../infra/eventstore/embedded/rpc/read-request.ts';
import { FEATURES, featuresMethod } from '../../infra/eventstore/embedded/server-info-handlers.ts';
import type { Writer } from '../../infra/eventstore/embedded/writer.ts';

/**
 * This program is an event store for comparisons that does as little work as possible. It decodes requests and
 * responds, but writes nothing to disk, checks no revisions and looks up no ids. A read of $all always returns the
 * events that were appended first. Usage: `node null-store.ts <port> <number of events to keep>`
 */
const [PORT, MAX_EVENTS] = process.argv.slice(2).map(Number) as [number, number];
const CHUNK = 64 << 10;

type Job = Parameters<Writer['submit']>[0];

const chunks: { bytes: Buffer; ends: number[] }[] = [];
let events = 0;
let position = 0;
let scratch = Buffer.alloc(0);

const store = (event: ProposedEvent, stream: string, revision: number): void => {
  if (events === MAX_EVENTS) return;
  events++;
  const size = maxRecordSize(event, stream.length * 3);
  if (scratch.length < size) scratch = Buffer.allocUnsafeSlow(size);
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

const respondTo = ({ request, respond }: Job): void => {
  let revision = revisions.get(request.stream) ?? -1;
  for (const event of request.events) {
    position += event.data.length;
    store(event, request.stream, ++revision);
  }
  revisions.set(request.stream, revision);
  respond({ kind: 'done', revision, position });
};

let queue: Job[] = [];
let afterBatch = new Set<() => void>();

const flush = (): void => {
  const jobs = queue;
  queue = [];
  for (const job of jobs) respondTo(job);
  const written = afterBatch;
  afterBatch = new Set();
  for (const send of written) send();
};

const writer: Writer = {
  submit: (job) => {
    if (queue.push(job) === 1) setImmediate(flush);
  },
  afterBatch: (send) => void afterBatch.add(send),
  idle: () => Promise.resolve(),
  flush,
};

const replay = async (call: Call, count: number): Promise<void> => {
  let left = count;
  for (const { bytes, ends } of chunks) {
    const sent = Math.min(left, ends.length);
    if (sent === 0) break;
    left -= sent;
    if (!call.send(bytes.subarray(0, ends[sent - 1]))) await call.drained();
  }
};

const readMethod = (call: Call): Receiver => ({
  message: (bytes) => {
    const { count, subscription } = readRequestOf(bytes);
    if (subscription) call.send(confirmation('00000000-0000-0000-0000-000000000000'));
    void replay(call, count).then(() => subscription || call.end());
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
